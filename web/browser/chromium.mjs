// The browser that shows the page to scripts.

import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Starts Debian's Chromium, or another that is installed. */
export async function launch() {
  const executablePath = PLACES.find((place) => existsSync(place));
  if (!executablePath) throw new Error("there is no Chromium here");
  // Its sandbox wants no root, and its shared memory a /dev/shm, which a private world may not have.
  const args = ["--no-sandbox", "--disable-dev-shm-usage"];
  return chromium.launch({ executablePath, args, headless: true });
}
