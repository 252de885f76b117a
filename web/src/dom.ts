// Elements, made of text that stays text.

type Content = string | number | Node;

/** Makes an element of a class with some content. */
export function element<K extends keyof HTMLElementTagNameMap>(tag: K, className: string, ...content: Content[]): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content.map((it) => (it instanceof Node ? it : String(it))));
  return made;
}

/** The element of the page with an id. */
export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** A button that does something. */
export function button(className: string, act: () => void, ...content: Content[]): HTMLButtonElement {
  const made = element("button", className, ...content);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}
