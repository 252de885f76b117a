// The search field, and the list of hits: all processes, while the field is empty.

import { button, element } from "./dom.ts";
import type { Model, Selection } from "./model.ts";
import { search, type Hit } from "./search.ts";

export class Finder {
  private hits: Hit[] = [];
  private shown = "";

  constructor(
    private readonly field: HTMLInputElement,
    private readonly list: HTMLElement,
    private readonly model: Model,
    private readonly choose: (selection: Selection) => void,
  ) {
    field.addEventListener("input", () => this.update());
    field.addEventListener("keydown", (event) => this.press(event));
    list.addEventListener("keydown", (event) => this.press(event));
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  update(): void {
    this.hits = search(this.model, this.field.value);
    const shown = JSON.stringify(this.hits);
    if (shown === this.shown) return;
    this.shown = shown;
    const at = [...this.list.children].indexOf(document.activeElement as Element);
    this.list.replaceChildren(...this.hits.map((hit) => this.row(hit)));
    if (at >= 0) this.step(at);
  }

  private row({ selection, title, note }: Hit): HTMLElement {
    const state = /deadlock$/.test(note) ? "bad" : /no thread left$/.test(note) ? "warn" : "";
    const made = button(`hit ${state}`, () => this.choose(selection), element("span", "title", title), element("span", "note", note));
    made.dataset["kind"] = selection.kind;
    return made;
  }

  private step(to: number): void {
    const row = this.list.children[Math.min(to, this.list.children.length - 1)];
    if (row instanceof HTMLElement) row.focus();
  }

  private press(event: KeyboardEvent): void {
    const at = [...this.list.children].indexOf(event.target as Element);
    if (event.key === "ArrowDown") this.step(at + 1);
    else if (event.key === "ArrowUp" && at > 0) this.step(at - 1);
    else if (event.key === "ArrowUp" && at === 0) this.field.focus();
    else if (event.key === "Enter" && event.target === this.field && this.hits[0]) this.choose(this.hits[0].selection);
    else if (event.key === "Escape" && event.target === this.field && this.field.value) {
      this.field.value = "";
      this.update();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
