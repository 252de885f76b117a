// Announcements for screen readers: each once, and only of important changes.

import type { Model } from "./model.ts";
import type { Finding } from "./records.ts";

/** Findings that are told in one go. */
const TOLD_MAX = 5;

export class News {
  private findings = "";

  constructor(private readonly place: HTMLElement) {}

  tell(words: string): void {
    if (this.place.textContent !== words) this.place.textContent = words;
  }

  /** Announces the findings, if they have changed. */
  tellFindings(model: Model): void {
    const found = model.look?.findings ?? [];
    const told = found.slice(0, TOLD_MAX).map((it) => findingWords(it, model));
    if (found.length > TOLD_MAX) told.push(`${found.length - TOLD_MAX} more`);
    const words = told.join("; ");
    if (words === this.findings) return;
    this.findings = words;
    this.tell(words || "Nothing is stuck any more");
  }
}

function findingWords(finding: Finding, model: Model): string {
  if (finding.kind === "deadlock") return `Deadlock of ${finding.calls.length} calls on ${finding.device}`;
  const process = `${model.name(finding.pid)} ${finding.pid} on ${finding.device}`;
  return finding.kind === "exhausted" ? `No thread left in ${process}` : `One-ways pile up for ${process}`;
}
