// Does with a chat page what people do, in Chromium: node chat_page.mjs FOLDER ADDRESS SCENE
// FOLDER has npm's playwright-core. Prints, as JSON, what was seen.
import { createRequire } from 'node:module';
import net from 'node:net';

const [folder, address, scene] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/page.js`)('playwright-core');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const someone = await browser.newContext();
const said = []; // errors, and what is refused by the policy
const hosts = new Set();

async function openPage(context = someone, url = address) {
  const page = await context.newPage();
  page.on('console', message => said.push(message.text()));
  page.on('pageerror', error => said.push(error.message));
  page.on('dialog', dialog => dialog.accept());
  page.on('request', request => hosts.add(new URL(request.url()).host));
  await page.goto(url);
  await page.waitForSelector('#empty, article');
  return page;
}

async function ask(page, text) {
  await page.fill('#question', text);
  await page.press('#question', 'Enter');
}

const readTexts = page => page.$$eval('article', articles => articles.map(one => one.innerText.trim()));
const waitFor = (page, text) => page.waitForFunction(text => document.querySelector('#log').innerText.includes(text), text);
const waitForEnd = page => page.waitForSelector('#stop', { state: 'hidden' });
const isRunning = page => page.isVisible('#stop');

async function letGoOn(url = address) { // the answer that waits in its middle
  const other = await openPage(await browser.newContext(), url);
  await ask(other, 'Go on.');
  await waitFor(other, 'Gone on.');
}

async function startProxy() { // one whose connections can be cut
  const { port } = new URL(address);
  const sockets = new Set();
  const server = net.createServer(client => {
    const service = net.connect(port, '127.0.0.1');
    for (const [from, to] of [[client, service], [service, client]]) {
      sockets.add(from);
      from.on('error', () => {}).on('close', () => to.destroy()).pipe(to);
    }
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, cut: () => sockets.forEach(one => one.destroy()) };
}

const scenes = {
  async 'asks'() {
    const page = await openPage();
    await ask(page, 'I am Ada.');
    await waitFor(page, 'Hello, Ada!');
    await waitForEnd(page);
    const texts = await readTexts(page);
    await page.reload();
    await waitFor(page, 'Hello, Ada!');
    const again = await readTexts(page);
    await page.click('#forget');
    await page.waitForSelector('#empty');
    return { texts, again };
  },
  async 'reloads'() {
    const page = await openPage();
    await ask(page, 'Count.');
    await waitFor(page, 'three');
    await page.reload();
    await waitFor(page, 'three');
    const half = await readTexts(page), wasRunning = await isRunning(page);
    const other = await openPage(someone, page.url());
    await waitFor(other, 'three');
    await letGoOn();
    await Promise.all([waitForEnd(page), waitForEnd(other)]);
    const [texts, others] = [await readTexts(page), await readTexts(other)];
    await page.reload();
    await waitFor(page, 'three');
    return { half, wasRunning, texts, others, kept: await readTexts(page) };
  },
  async 'loses its connection'() {
    const { url, cut } = await startProxy();
    const page = await openPage(someone, url);
    const asked = [];
    page.on('request', request => request.url().endsWith('/stream') && asked.push(request.headers()['last-event-id']));
    await ask(page, 'Count.');
    await waitFor(page, 'three');
    for (let times = 1; times < 3; times++) {
      const again = page.waitForResponse(response => response.url().endsWith('/stream'));
      cut();
      await again;
    }
    await letGoOn(url);
    await waitForEnd(page);
    return { texts: await readTexts(page), asked };
  },
  async 'stops elsewhere'() {
    const page = await openPage();
    await ask(page, 'Talk on.');
    await waitFor(page, 'scattered');
    const other = await openPage(someone, page.url());
    await waitFor(other, 'scattered');
    await other.click('#stop');
    await Promise.all([waitFor(page, 'Stopped.'), waitFor(other, 'Stopped.')]);
    await Promise.all([waitForEnd(page), waitForEnd(other)]);
    const [texts, others] = [await readTexts(page), await readTexts(other)];
    await page.reload();
    await waitFor(page, 'Not finished.');
    return { texts, others, kept: await readTexts(page) };
  },
  async 'decides'() {
    const page = await openPage();
    const seen = {};
    for (const [word, kept] of [['Approve', 'It is booked.'], ['Reject', 'I book nothing.']]) {
      await ask(page, `${word} a table.`);
      await page.waitForSelector('.waits button');
      await waitForEnd(page);
      if (word === 'Approve') {
        await page.reload(); // the day after, on the phone
        await page.waitForSelector('.waits button');
      }
      await page.click(`.waits button:text("${word}")`);
      await waitFor(page, kept);
      await waitForEnd(page);
      seen[word] = (await page.$$eval('.call', calls => calls.map(one => one.innerText))).at(-1);
    }
    seen.texts = await readTexts(page);
    await page.reload();
    await waitFor(page, 'I book nothing.');
    return { ...seen, kept: await readTexts(page) };
  },
  async 'decides, and comes back'() {
    const page = await openPage();
    await ask(page, 'Book, and count.');
    await page.waitForSelector('.waits button');
    await waitForEnd(page);
    const other = await openPage(someone, page.url());
    await page.click('.waits button:text("Approve")');
    await waitFor(page, 'three');
    await page.reload();
    await waitFor(page, 'three');
    const half = await readTexts(page), wasRunning = await isRunning(page);
    await letGoOn();
    await waitForEnd(page);
    const texts = await readTexts(page);
    await other.click('.waits button:text("Reject")');
    await waitFor(other, 'seven');
    return { half, wasRunning, texts, notice: await other.innerText('#notice'), others: await readTexts(other) };
  },
  async 'is attacked'() {
    const page = await openPage();
    await ask(page, 'Attack me.');
    await waitFor(page, 'onerror');
    await waitForEnd(page);
    const texts = await readTexts(page);
    await page.reload();
    await waitFor(page, 'onerror');
    return { texts, kept: await readTexts(page), images: await page.$$eval('img', images => images.length) };
  },
  async 'is busy'() {
    const page = await openPage();
    const other = await openPage(someone, page.url());
    await ask(page, 'Talk on.');
    await waitFor(page, 'scattered');
    await ask(other, 'Count.');
    await waitFor(other, 'scattered');
    await other.waitForFunction(() => document.querySelector('#notice').textContent);
    const notice = await other.innerText('#notice'), box = await other.inputValue('#question');
    await other.click('#stop');
    await waitForEnd(page);
    return { notice, box, texts: await readTexts(other) };
  },
  async 'is narrow'() {
    const page = await openPage();
    const widths = {};
    for (const width of [360, 1200]) {
      await page.setViewportSize({ width, height: 740 });
      await ask(page, width === 360 ? 'Be wide.' : 'Approve a table.');
      await (width === 360 ? waitFor(page, 'wwww') : page.waitForSelector('.waits button'));
      await waitForEnd(page);
      widths[width] = await page.evaluate(() => document.documentElement.scrollWidth);
    }
    await page.setViewportSize({ width: 360, height: 740 });
    widths.call = await page.evaluate(() => document.documentElement.scrollWidth);
    return widths;
  },
  async 'uses the keyboard'() {
    const page = await openPage();
    await page.keyboard.type('Approve a table.'); // the box has the focus
    await page.keyboard.press('Enter');
    await page.waitForSelector('.waits button');
    await waitForEnd(page);
    const found = [];
    while (found.at(-1) !== 'Approve' && found.length < 9) {
      await page.keyboard.press('Shift+Tab');
      found.push(await page.evaluate(() => document.activeElement.innerText));
    }
    await page.keyboard.press('Enter');
    await waitFor(page, 'It is booked.');
    return { found };
  },
};

let code = 0;
try {
  const seen = await scenes[scene]();
  console.log(JSON.stringify({ ...seen, said, hosts: [...hosts] }));
} catch (error) {
  console.error(error, said);
  code = 1;
}
await browser.close();
process.exit(code);
