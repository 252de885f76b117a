// Dark and light: as the system says, until the user chooses.

export interface Colors {
  text: string;
  faint: string;
  edge: string;
  node: string;
  waiting: string;
  process: string;
  busy: string;
  call: string;
  accent: string;
  bad: string;
  ground: string;
}

/** The colours of the style sheet, for canvases. */
export function colors(): Colors {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    text: of("text"),
    faint: of("faint"),
    edge: of("edge"),
    node: of("node"),
    waiting: of("waiting"),
    process: of("process"),
    busy: of("busy"),
    call: of("call"),
    accent: of("accent"),
    bad: of("bad"),
    ground: of("ground"),
  };
}

const system = (): MediaQueryList => matchMedia("(prefers-color-scheme: dark)");

function isDark(): boolean {
  const chosen = document.documentElement.dataset["theme"];
  return chosen ? chosen === "dark" : system().matches;
}

export function toggleTheme(): void {
  document.documentElement.dataset["theme"] = isDark() ? "light" : "dark";
}

export function onThemeChange(change: () => void): void {
  system().addEventListener("change", change);
  new MutationObserver(change).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
