// The documents of the page: elements with data. The browser may still be reading documents when the script runs.
const kPollMs = 20;

/** Returns the text of a document once the browser has read all of it; "": the page has no such document.
 * @param {string} id @returns {Promise<string>} */
export async function documentText(id) {
  for (;;) {
    const home = document.getElementById(id);
    if (document.readyState !== "loading" || home && home.nextElementSibling) return home ? home.textContent || "" : "";
    await new Promise((resolve) => { setTimeout(resolve, kPollMs); });
  }
}
