// Words for what is shown.

/**
 * Text of others as it may be shown: what would act on the text around it, as controls and marks of direction do, is
 * told by its number. Markup needs no care here, for text is only ever made a text node.
 */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
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

/** What a thread is, by the bits of its record. */
export function looperWords(looper: number): string {
  const words = LOOPER_BITS.filter((_, bit) => looper & (1 << bit));
  return words.length === 0 ? "-" : words.join(", ");
}

/** What a call is called: its interface and method, as far as they are known. */
export function callName(call: { interface: string | null; method?: string | null; code: number }): string {
  const method = call.method ?? `code ${call.code}`;
  return call.interface ? `${call.interface} ${method}` : method;
}
