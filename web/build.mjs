// Bundles the page into dist/, which is checked in: `cargo build` needs no npm.
//
// --verify compares instead of writing, --tests bundles the unit tests into build/.

import { build } from "esbuild";
import { readFile, readdir, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(here, ...parts);
const mode = process.argv[2];

async function bundle() {
  const result = await build({
    entryPoints: { page: at("src/main.ts") },
    outdir: at("dist"),
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    write: false,
    absWorkingDir: here,
  });
  const style = await build({
    entryPoints: { page: at("src/page.css") },
    outdir: at("dist"),
    minify: true,
    write: false,
  });
  return new Map([
    ["page.js", result.outputFiles[0].text],
    ["page.css", style.outputFiles[0].text],
    ["index.html", await readFile(at("src/index.html"), "utf8")],
    ["notices.txt", await notices(Object.keys(result.metafile.inputs))],
  ]);
}

/** The licences of the packages that are in the bundle. */
async function notices(inputs) {
  const packages = new Set(inputs.map((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]).filter(Boolean));
  const parts = ["What is in the page of `anybinder web` besides its own sources, each under its own terms.\n"];
  for (const name of [...packages].sort()) {
    const place = at("node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(place, "package.json"), "utf8"));
    const file = (await readdir(place)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name} has no licence`);
    const terms = await readFile(join(place, file), "utf8");
    parts.push(`${"=".repeat(80)}\n${name} ${version}: ${license}\n\n${terms.trim()}\n`);
  }
  return parts.join("\n");
}

if (mode === "--tests") {
  const tests = (await readdir(at("test"))).filter((name) => name.endsWith(".test.ts")).sort();
  const contents = tests.map((name) => `import "./test/${name}";`).join("\n");
  await build({
    stdin: { contents, resolveDir: here },
    outfile: at("build/tests.mjs"),
    bundle: true,
    format: "esm",
    platform: "node",
    sourcemap: "inline",
  });
} else {
  await mkdir(at("dist"), { recursive: true });
  const different = [];
  for (const [name, text] of await bundle()) {
    const old = await readFile(at("dist", name), "utf8").catch(() => "");
    if (old !== text) different.push(name);
    if (mode !== "--verify") await writeFile(at("dist", name), text);
  }
  if (mode === "--verify" && different.length > 0) {
    console.error(`web/dist is not what the sources build to: ${different.join(", ")}; run \`npm run build\` in web/`);
    process.exit(1);
  }
}
