// Folding: boxes that stand for several nodes. Each fold is a word in the address: "20" folds node 20 with the nodes
// that only it uses, "20-12" folds the block from node 20 down to node 12, which is not included, "m" folds each node
// of the model, and "m5" folds only node 5 of the model, or with "m" all except node 5. "a" folds all repeated blocks,
// "l" only those of graphs with many nodes, and "20*" all blocks like that of node 20; beside one of these three
// words, the word of a block unfolds this block.
import {isValue} from "./values.js";

const kMostTitle = 15;  // characters of a text such as "train.py:14–15" that a box has room for
/** @typedef {import("./data.js").RecordedGraph} RecordedGraph */

/** A graph to draw: the keys of its nodes, sources first.
 * @typedef {{order: number[], sources: Map<number, number[]>}} Keys */
/** A box that stands for several nodes: its text, and the word of the address that folds them.
 * @typedef {{word: string, title: string, lines: string[], count: number, members: number[]}} Fold */
/** What to fold. `heads`: by key, the node down to which to fold (-1: everything), and the lines of the box; `model`:
 * by key, the number of the model's node that is folded; -1: none.
 * @typedef {{heads: Map<number, {floor: number, word: string, lines: string[]}>,
 *   model: {of: (key: number) => number, labels: string[], says: (key: number) => string} | null}} FoldRequest */

/** Parses the words of an address that fold nodes. @param {string[]} words
 *  @returns {{heads: {head: number, floor: number, word: string}[], alike: number[], all: boolean, repeats: boolean,
 *   large: boolean, flipped: Set<number>}} */
export function parseFoldWords(words) {
  const out = {heads: [], alike: [], all: words.includes("m"), repeats: words.includes("a"),
    large: words.includes("l"), flipped: new Set()};
  for (const word of words) {
    const [, head, floor] = /^(\d+)(?:-(\d+))?$/.exec(word) || [], one = /^m(\d+)$/.exec(word);
    if (/^\d+\*$/.test(word)) out.alike.push(parseInt(word));
    if (head) out.heads.push({head: Number(head), floor: floor ? Number(floor) : -1, word});
    if (one) out.flipped.add(Number(one[1]));
  }
  return out;
}

/** Returns the word of the address that folds a block. @param {{head: number, floor: number}} block */
export function wordOfBlock({head, floor}) { return floor < 0 ? String(head) : head + "-" + floor; }

/** Returns the graph with a single node for each fold. Edges from a fold to other nodes stay. `owner`: for a hidden
 * node, its box. `isText`: whether a node is text in its users' boxes. @param {RecordedGraph} g @param {Keys} graph
 * @param {number} root @param {FoldRequest} foldRequest
 * @returns {{graph: Keys, owner: Map<number, number>, folds: Map<number, Fold>}} */
export function foldedGraph(g, graph, root, foldRequest, isText = (n) => isValue(g, n)) {
  const folds = new Map(), owner = new Map();
  if (foldRequest.model) {
    for (const [label, members] of modelNodeGroups(g, graph, foldRequest.model.of, isText)) {
      const head = members[members.length - 1], [place, ...words] = foldRequest.model.labels[label].split(" ");
      const title = shortPlace(place);
      const name = words.join(" ").replace(/'/g, "");
      for (const key of members) if (key !== head) owner.set(key, head);
      folds.set(head, {word: "m" + label, title, lines: [name, foldRequest.model.says(head)].filter(Boolean),
        count: members.length - 1, members});
    }
    graph = contractGraph(graph, owner);
  }
  const heads = new Map();
  for (const [key, how] of foldRequest.heads)
    heads.set(owner.get(key) ?? key, {...how, floor: owner.get(how.floor) ?? how.floor});
  const below = hiddenBelow(graph, heads, root);
  for (const [key, head] of below) {
    const {word, lines} = heads.get(head), fold = folds.get(head) || {word: "", title: "", lines: [], members: [head]};
    if (fold.word !== word) folds.set(head, {...fold, word, lines: [...fold.lines, ...lines], count: 0});
    folds.get(head).members.push(...(folds.has(key) ? folds.get(key).members : [key]));
  }
  for (const [key, head] of owner) if (below.has(head)) owner.set(key, below.get(head));
  for (const [key, head] of below) owner.set(key, head), folds.delete(key);
  for (const fold of folds.values()) fold.count = fold.members.filter((key) => !isText(key % g.count)).length - 1;
  return {graph: below.size ? contractGraph(graph, below) : graph, owner, folds};
}

// Shortens the name of a file, so that the box has room for the line numbers: "train_tr\u2026:14\u201315".
function shortPlace(/** @type {string} */ place) {
  const [, file, lines] = /^(.*)(:[\d\u2013]+)$/.exec(place) || ["", place, ""], most = kMostTitle - lines.length;
  return (lines && file.length > most ? file.slice(0, most - 1) + "\u2026" : file) + lines;
}

/** Returns for each hidden key the key of its box. A node is hidden if every path from it to the root leads through a
 * folded node. @param {Keys} graph @param {Map<number, {floor: number}>} heads */
function hiddenBelow({order, sources}, heads, root) {
  const seen = new Set([root]), stack = [root], owner = new Map();
  const see = (key) => { if (!seen.has(key)) seen.add(key), stack.push(key); };
  if (!heads.size) return owner;
  while (stack.length) {
    const key = stack.pop(), head = heads.get(key);
    if (!head) sources.get(key).forEach(see);
    else if (head.floor >= 0 && sources.has(head.floor)) see(head.floor);
  }
  for (let i = order.length - 1; i >= 0; i--) {
    const key = order[i], holder = heads.has(key) && seen.has(key) ? key : owner.get(key);
    if (holder === undefined) continue;
    for (const s of sources.get(key)) if (!seen.has(s) && !owner.has(s)) owner.set(s, holder);
  }
  return owner;
}

/** Returns the nodes of each folded node of the model, in order. Leaves out groups of nodes that would be on a cycle,
 * or between cycles, if all groups were folded.
 * @param {RecordedGraph} g @param {Keys} graph @param {(key: number) => number} of
 * @returns {Map<number, number[]>} */
function modelNodeGroups(g, graph, of, isText) {
  const groups = new Map(), drawn = graph.order.filter((key) => !isText(key % g.count)), label = new Map();
  for (const key of drawn) {
    const own = of(key);
    if (own < 0) continue;
    label.set(key, own);
    groups.has(own) ? groups.get(own).push(key) : groups.set(own, [key]);
  }
  // A unit is a drawn node, or all nodes of a group.
  const unit = (key) => (label.has(key) ? -1 - label.get(key) : key), uses = new Map(), usedBy = new Map();
  const link = (map, from, to) => { map.has(from) ? map.get(from).add(to) : map.set(from, new Set([to])); };
  for (const key of drawn) {
    uses.has(unit(key)) || uses.set(unit(key), new Set()), usedBy.has(unit(key)) || usedBy.set(unit(key), new Set());
    for (const s of graph.sources.get(key)) {
      if (isText(s % g.count) || unit(s) === unit(key)) continue;
      link(uses, unit(key), unit(s)), link(usedBy, unit(s), unit(key));
    }
  }
  // Remove units from both ends of the graph until only units on or between cycles are left.
  const left = new Set(uses.keys());
  for (const [ahead, back] of [[uses, usedBy], [usedBy, uses]]) {
    const open = new Map([...left].map((u) => [u, [...ahead.get(u)].filter((v) => left.has(v)).length]));
    const ready = [...left].filter((u) => !open.get(u));
    for (let i = 0; i < ready.length; i++) {
      left.delete(ready[i]);
      for (const v of back.get(ready[i])) {
        if (!left.has(v)) continue;
        open.set(v, open.get(v) - 1);
        if (!open.get(v)) ready.push(v);
      }
    }
  }
  for (const u of left) if (u < 0) groups.delete(-1 - u);
  return groups;
}

/** Returns the graph in which hidden nodes are a part of their boxes.
 * @param {Keys} graph @param {Map<number, number>} owner */
function contractGraph(graph, owner) {
  const boxOf = (key) => owner.get(key) ?? key, isBox = new Set(owner.values()), merged = new Map();
  const sources = new Map();
  for (const key of graph.order) {
    const own = graph.sources.get(key), box = boxOf(key);
    if (!isBox.has(box)) {
      sources.set(key, own.some((s) => owner.has(s)) ? own.map(boxOf) : own);
      continue;
    }
    if (!merged.has(box)) merged.set(box, new Set());
    for (const s of own) if (boxOf(s) !== box) merged.get(box).add(boxOf(s));
  }
  for (const [box, list] of merged) sources.set(box, [...list]);
  return {order: topologicalOrder(graph.order.map(boxOf).reverse(), sources), sources};
}

/** Returns the keys below the roots, sources first. Leaves out sources without an entry, which occur
 * if two graphs are drawn as one.
 * @param {number[]} roots @param {Map<number, number[]>} sources */
function topologicalOrder(roots, sources) {
  const order = [], kOpen = 1, kDone = 2, state = new Map();
  for (const root of roots) {
    const stack = [root];
    while (stack.length) {
      const key = stack[stack.length - 1], list = sources.get(key);
      if (!state.has(key)) {
        state.set(key, kOpen);
        for (let i = list.length - 1; i >= 0; i--) if (!state.has(list[i]) && sources.has(list[i])) stack.push(list[i]);
      } else {
        stack.pop();
        if (state.get(key) === kOpen) state.set(key, kDone), order.push(key);
      }
    }
  }
  return order;
}
