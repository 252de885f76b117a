// Text for the page.

/** Names of devices may have as many characters; of a longer text the beginning is shown. */
const TEXT_MAX = 256;
/** Blocks of scripts that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Text of others as it may be shown, anywhere. What would act on the text around it, as controls and marks of direction do, is
 * told by its number; letters that run from right to left are kept from taking numbers beside them along (by U+2068 and
 * U+2069); of marks on one letter, which grow over other lines, two are left. Markup needs no care here, for text is only ever
 * made a text node.
 */
export function plain(text: string): string {
  if (text.length <= TEXT_MAX && /^[ -~]*$/.test(text)) return text;
  const start = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}...` : text;
  const told = start
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`)
    .replace(/(\p{M}{2})\p{M}+/gu, "$1");
  return RIGHT_TO_LEFT.test(told) ? `\u2068${told}\u2069` : told;
}

/** Parses an event of the server, and makes all text in it safe to show. */
export function parsePlain<T>(json: string): T {
  const parsed: unknown = JSON.parse(json);
  makePlain(parsed);
  return parsed as T;
}

/** In place: a reviver of `JSON.parse` takes several times as long. */
function makePlain(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const parts = value as Record<string, unknown>;
  for (const key in parts) {
    const part = parts[key];
    if (typeof part === "string") parts[key] = plain(part);
    else makePlain(part);
  }
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB"];

export function bytes(count: number): string {
  let unit = 0;
  while (count >= 1024 && unit < BYTE_UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count : count.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

export function duration(ns: number): string {
  if (ns < 1e6) return `${digits(ns / 1e3)} us`;
  if (ns < 1e9) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e9)} s`;
}

function digits(value: number): string {
  return value < 10 ? value.toFixed(1) : value.toFixed(0);
}

export function rate(perSecond: number): string {
  return perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toFixed(1);
}

const LOOPER_BITS = ["registered", "entered", "exited", "invalid", "waits", "polls"];

/** The state of a thread, by the bits of its record. */
export function looperWords(looper: number): string {
  const words = LOOPER_BITS.filter((_, bit) => looper & (1 << bit));
  return words.length === 0 ? "-" : words.join(", ");
}

/** The interface and method of a call, as far as they are known. */
export function callName(call: { interface: string | null; method?: string | null; code: number }): string {
  const method = call.method ?? `code ${call.code}`;
  return call.interface ? `${call.interface} ${method}` : method;
}
