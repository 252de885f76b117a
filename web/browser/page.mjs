// Looks at the page as its users do. `crates/anybinder/tests/scenario/page.rs` plays the scenario that is seen, and starts this:
//
//   node page.mjs URL MANAGER CLIENT SERVER WAITER HOSTILE HOSTILE_NAME
//
// with the pids of a context manager, of two processes that wait for each other, of one that waits for these, and of one
// whose name is markup. With ANYBINDER_SCREENSHOTS, pictures are left in the directory of that name. A line on stdout asks for
// the next step of the scenario; a line on stdin says that it is done.

import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { launch } from "./chromium.mjs";

const [url, manager, client, server, waiter, hostile, hostileName] = process.argv.slice(2);
const pictures = process.env.ANYBINDER_SCREENSHOTS;
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

async function ask(what) {
  console.log(what);
  const { done } = await answers.next();
  assert.ok(!done, "the scenario has ended");
}

const browser = await launch();
const context = await browser.newContext({ colorScheme: "light", viewport: { width: 1400, height: 900 } });
const page = await context.newPage();
try {
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // A page that is served alone has no icon.
    if (message.type() === "error" && !message.location().url.endsWith("/favicon.ico")) problems.push(message.text());
  });
  const requested = [];
  page.on("request", (request) => requested.push(request.url()));
  await page.goto(url);

  const inGraph = (pid) => page.locator(`#graph button[data-pid="${pid}"]`);
  const attached = (locator) => locator.waitFor({ state: "attached" });
  const state = (pid, what) => attached(page.locator(`#graph button[data-pid="${pid}"][data-state="${what}"]`));
  const redPixels = () =>
    page.evaluate(() => {
      const canvas = document.getElementById("graph");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        if (data[at + 3] > 200 && data[at] > 180 && data[at + 1] < 70 && data[at + 2] < 90) count += 1;
      }
      return count;
    });

  // Painted parts are no elements that could be waited for.
  const eventually = async (what, check) => {
    const begun = Date.now();
    while (!(await check())) {
      assert.ok(Date.now() - begun < 60_000, what);
      await page.waitForTimeout(20);
    }
  };

  console.error("page: the graph has the processes of the scenario");
  for (const pid of [manager, client, server, waiter, hostile]) await attached(inGraph(pid));
  assert.equal(await redPixels(), 0);

  console.error("page: a name that is markup is text");
  assert.equal(await inGraph(hostile).textContent(), `${hostileName} ${hostile}`);
  await page.locator("#hits .title", { hasText: `${hostileName} ${hostile}` }).click();
  await page.locator("#details h2", { hasText: `${hostileName} ${hostile}` }).waitFor();
  assert.equal(await page.locator("#evil").count(), 0);

  console.error("page: a deadlock is red, and a process that waits for it is not in it");
  await ask("deadlock");
  for (const pid of [client, server]) await state(pid, "deadlock");
  await state(waiter, "");
  await page.waitForFunction(() => document.getElementById("status").className === "bad");
  await page.keyboard.press("0");
  await eventually("red is painted", async () => (await redPixels()) > 100);
  await page.keyboard.press("Escape");
  await page.locator("#details", { hasText: "Deadlock on binder" }).waitFor();
  await page.locator("#news", { hasText: "Deadlock of 2 calls on binder" }).waitFor();

  if (pictures) {
    await page.locator("#hits .hit.bad").first().click();
    // So that the time line has something to show.
    await page.waitForTimeout(6000);
    await page.keyboard.press("0");
    // The graph may still be moving.
    await page.waitForTimeout(300);
    await page.keyboard.press("0");
    await page.screenshot({ path: `${pictures}/web-light.png` });
    await page.keyboard.press("t");
    await page.waitForTimeout(500);
    await page.screenshot({ path: `${pictures}/web-dark.png` });
    await page.keyboard.press("t");
    await page.keyboard.press("Escape");
  }

  console.error("page: the keyboard finds a process, and what it has to do with");
  await page.keyboard.press("/");
  await page.keyboard.type(`process ${waiter}`);
  await page.keyboard.press("Enter");
  await page.locator("#details h2", { hasText: new RegExp(` ${waiter}$`) }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.activeElement.classList.contains("hit"));
  await page.keyboard.press("d");
  await page.locator("#details p.bad").waitFor();
  await page.locator("#details .link").first().press("Enter");
  await page.locator("#details h2", { hasText: /^Transaction \d+ on binder$/ }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");

  console.error("page: the keyboard goes from process to process, and sees where it is");
  const painted = () => page.evaluate(() => document.getElementById("graph").toDataURL());
  const unmarked = await painted();
  await inGraph(waiter).focus();
  await eventually("a mark is painted", async () => (await painted()) !== unmarked);
  await page.keyboard.press("Enter");
  await page.locator("#details h2", { hasText: new RegExp(` ${waiter}$`) }).waitFor();

  console.error("page: the keyboard finds a call on the time line");
  // What is announced of a call stays only until there is other news.
  await page.evaluate(() => {
    const news = document.getElementById("news");
    window.announced = [];
    new MutationObserver(() => window.announced.push(news.textContent)).observe(news, { childList: true, characterData: true, subtree: true });
  });
  await eventually("a call is chosen, and announced", async () => {
    // What was chosen before may take the focus late, on a busy machine.
    await page.locator("#timeline").focus();
    // A call is shown for some seconds only.
    await ask("calls");
    for (let step = 0; step < 50; step += 1) {
      await page.keyboard.press("ArrowUp");
      await page.waitForTimeout(20);
      const isChosen = await page.locator("#details", { hasText: "queued, served, returning" }).count();
      if (isChosen && (await page.evaluate(() => window.announced.some((words) => words.includes(" from "))))) return true;
    }
    return false;
  });

  console.error("page: what is paused stays as it is");
  await page.locator("#pause").click();
  assert.equal(await page.locator("#status").textContent(), "paused");
  await page.locator("#pause").click();
  await page.locator("#status", { hasText: "processes" }).waitFor();

  console.error("page: dark and light");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  const dark = await ground();
  assert.notEqual(light, dark);
  await page.locator("#theme").click();
  assert.equal(await ground(), light);
  const other = await (await browser.newContext({ colorScheme: "dark" })).newPage();
  await other.goto(url);
  assert.equal(await other.evaluate(() => getComputedStyle(document.body).backgroundColor), dark);
  await other.close();

  console.error("page: a killed process disappears, and the deadlock with it");
  await ask("kill");
  await inGraph(server).waitFor({ state: "detached" });
  // The survivor's only thread does not read, so the call that waits for it goes on waiting.
  await state(client, "exhausted");
  await page.keyboard.press("Escape");
  await page.locator("#details", { hasText: "No thread left in" }).waitFor();
  assert.doesNotMatch(await page.locator("#details").textContent(), /Deadlock/);

  console.error("page: all came from the server, and nothing went wrong");
  assert.deepEqual(requested.filter((it) => !it.startsWith(url)), []);
  assert.deepEqual(problems, []);
} catch (error) {
  for (const id of ["status", "timeline-status", "details", "news"]) {
    console.error(`page: ${id}: ${await page.evaluate((it) => document.getElementById(it)?.innerText, id)}`);
  }
  throw error;
} finally {
  await browser.close();
  // Else it would wait for another answer.
  process.stdin.destroy();
}
