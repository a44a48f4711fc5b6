// Draws the diagrams of the book in the browser. Without a network they stay text.
const sources = document.querySelectorAll("code.language-mermaid");
if (sources.length > 0) {
  import("https://cdn.jsdelivr.net/npm/mermaid@11.12.1/dist/mermaid.esm.min.mjs").then(({ default: mermaid }) => {
    for (const source of sources) {
      const diagram = document.createElement("pre");
      diagram.className = "mermaid";
      diagram.textContent = source.textContent;
      source.parentElement.replaceWith(diagram);
    }
    mermaid.run();
  });
}
