/** Without it, an error while the scripts are loaded leaves an empty page. To be imported first. */
addEventListener("error", ({ message }) => {
  // In a page that is shown, the rest goes on working.
  if (document.body.innerText.trim() !== "") return;
  const main = document.createElement("main");
  const lines = [
    ["h1", "The console cannot be shown"],
    ["p", message],
    ["p", "Reload the page, or use another browser. The command line does the same: topicsync --help."],
  ] as const;
  for (const [name, text] of lines)
    main.append(Object.assign(document.createElement(name), { textContent: text }));
  document.body.append(main);
});
