from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from pydantic import BaseModel, Field

from tgc.mcp.access import AllowedFolders
from tgc.mcp.answers import CommandRunner, call_text
from tgc.process import visible

ALLOW = "start the server with --allow-run, or use a host that asks its user (elicitation)"
KERNELS = "run compiled kernels on this machine, in a confined process"


@dataclass
class SessionState:
  """State that the calls of a session share. allowed: what the host allowed for the rest of the session."""
  folders: AllowedFolders
  commands: CommandRunner
  allow_run: bool = False
  allowed: set[str] = field(default_factory=set)


Ctx = Context[SessionState, Any]


def session_state(ctx: Ctx) -> SessionState: return ctx.request_context.lifespan_context


class Consent(BaseModel):
  """The host's answer to a question; declining it means no."""
  remember: bool = Field(default=False, description="also allow it for later calls, until the server ends")


def consent_or_question(ctx: Ctx, what: str, question: str, following: str) -> Consent | Elicit[Consent]:
  """Returns consent that --allow-run or an earlier answer gives, or the question. Raises ToolError, with the call to
  make instead, if the host cannot be asked."""
  state = session_state(ctx)
  if state.allow_run or what in state.allowed: return Consent()
  capabilities = ctx.client_capabilities
  if capabilities is None or capabilities.elicitation is None:
    raise ToolError(f"not allowed: this would {question}. To allow it, {ALLOW}\nnext: {following}")
  return Elicit(f"Allow tgc to {question}?", Consent)


def ask_to_run(input: str, device: str | None, ctx: Ctx) -> Consent | Elicit[Consent]:
  if device == "REF": return Consent()  # the interpreter executes no code of the input
  instead = call_text("bisect", input=input, device="REF")
  return consent_or_question(ctx, "kernels", f'{KERNELS}; device="REF" only interprets them', instead)


def ask_to_time(input: str, ctx: Ctx) -> Consent | Elicit[Consent]:
  return consent_or_question(ctx, "kernels", f"{KERNELS}, to time them", call_text("dump", input=input, stage="asm"))


def ask_to_reduce(input: str, device: str | None, live: bool, ctx: Ctx) -> Consent | Elicit[Consent]:
  if not live: return ask_to_run(input, device, ctx)
  question = "compile smaller kernels with tinygrad, with your rights, and run them"
  return consent_or_question(ctx, "live", question, call_text("page", input=input))


def program_text(program: str, arguments: list[str] | None) -> str:
  return visible(shlex.join([program, *(arguments or ())]))


def ask_to_record(program: str, arguments: list[str] | None, ctx: Ctx) -> Consent | Elicit[Consent]:
  text = program_text(program, arguments)
  question = f"run the program `{text}` with your rights, to record what tinygrad compiles"
  return consent_or_question(ctx, f"program {text}", question, call_text("records"))


RunConsent = Annotated[ElicitationResult[Consent], Resolve(ask_to_run)]
TimeConsent = Annotated[ElicitationResult[Consent], Resolve(ask_to_time)]
ReduceConsent = Annotated[ElicitationResult[Consent], Resolve(ask_to_reduce)]
RecordConsent = Annotated[ElicitationResult[Consent], Resolve(ask_to_record)]


def state_if_granted(ctx: Ctx, consent: ElicitationResult[Consent], what: str = "kernels") -> SessionState:
  """Returns the state if the host consents. Raises ToolError if it does not."""
  state = session_state(ctx)
  if not isinstance(consent, AcceptedElicitation):
    raise ToolError(f"not allowed: the host's user declined. To allow it, {ALLOW}\nnext: {call_text('records')}")
  if consent.data.remember: state.allowed.add(what)
  return state
