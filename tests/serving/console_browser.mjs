// Does with the page of a gateway what people do, in Chromium: node console_browser.mjs FOLDER ADDRESS SCENE
// FOLDER has npm's playwright-core. Prints, as JSON, what was seen.
import { createRequire } from 'node:module'

const [folder, address, scene] = process.argv.slice(2)
const { chromium } = createRequire(`${folder}/page.js`)('playwright-core')
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
const said = [] // errors, and what is refused by the policy
const hosts = new Set()

const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
page.setDefaultTimeout(30000)
page.on('console', (message) => said.push(message.text()))
page.on('pageerror', (error) => said.push(error.message))
page.on('dialog', (dialog) => (said.push(`dialog: ${dialog.message()}`), dialog.dismiss()))
page.on('request', (request) => hosts.add(new URL(request.url()).host))

const open = async () => {
  await page.goto(`${address}/`)
  await page.waitForSelector('html[data-ready=yes]')
}
const choose = (...names) => page.$$eval('#choice input', (boxes, names) => boxes.forEach((one) => one.checked !== names.includes(one.value) && one.click()), names)
const ask = async (text) => {
  await page.fill('#question', text)
  await page.press('#question', 'Enter')
}
const waitFor = (text) => page.waitForFunction((text) => document.querySelector('#turns').innerText.includes(text), text)
const waitForEnd = () => page.waitForFunction(() => [...document.querySelectorAll('.answer')].every((one) => one.ariaBusy !== 'true' && one.querySelector('dl').innerText.includes('tokens')))
const readTexts = () => page.$$eval('.answer', (all) => all.map((one) => one.querySelector('.parts').innerText.trim()))
const readFacts = () => page.$$eval('.answer', (all) => all.map((one) => Object.fromEntries([...one.querySelectorAll('dl div')].map((fact) => fact.innerText.split('\n')))))
const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
const view = async (name) => {
  await page.click(`nav a[href="#${name}"]`)
  await page.waitForSelector(`#${name}:not([hidden])`)
}

const scenes = {
  async compares() {
    await open()
    await choose('one', 'other')
    await page.focus('#question')
    await page.keyboard.type('Why?')
    await page.keyboard.press('Enter')
    await waitForEnd()
    return {
      names: await page.$$eval('.answer > header h3', (all) => all.map((one) => one.innerText)),
      html: await page.$$eval('.text', (all) => all.map((one) => one.innerHTML)),
      images: await page.$$eval('img, script:not([src]), .text a[href^=javascript]', (all) => all.length),
      facts: await readFacts(),
    }
  },
  async watches() {
    await open()
    await choose('one')
    await ask('Why?')
    await waitForEnd()
    await view('runs')
    await page.waitForSelector('.root')
    await page.focus('.root > summary')
    await page.keyboard.press('Enter')
    await page.locator('.branches summary').last().click()
    await page.waitForSelector('.message')
    const runs = await page.$eval('#tree', (tree) => tree.innerText)
    await view('usage')
    await page.waitForSelector('.plot .series')
    await page.click('label:has(input[value="tenant"])')
    await page.waitForFunction(() => document.querySelector('.sums').innerText.includes('acme'))
    await page.focus('.plot')
    await page.keyboard.press('ArrowLeft')
    return { runs, bars: (await page.$$('.plot .series')).length, table: await page.$eval('.sums', (table) => table.innerText), day: await page.$eval('.readout', (one) => one.innerText) }
  },
  async narrow() {
    await page.setViewportSize({ width: 360, height: 740 })
    await open()
    const seen = { empty: await overflow() }
    await choose('one', 'wide', 'clerk')
    await ask('Why?')
    await page.waitForSelector('.approval')
    await page.waitForFunction(() => document.querySelectorAll('.answer[aria-busy=true]').length === 0)
    seen.chat = await overflow()
    await view('runs')
    await page.click('.root:nth-of-type(2) > summary')
    await page.waitForSelector('.branches')
    for (const line of await page.$$('.branches summary')) await line.click()
    await page.waitForSelector('.message')
    seen.runs = await overflow()
    await view('usage')
    await page.waitForSelector('.plot')
    seen.usage = await overflow()
    return seen
  },
  async reloads() {
    await open()
    await choose('slow')
    await ask('Count.')
    await waitFor('one two')
    await page.reload()
    await waitFor('one two')
    const half = await readTexts()
    await fetch(`${address}/go-on`)
    await waitFor('three four')
    await waitForEnd()
    const whole = await readTexts()
    await page.reload()
    await page.waitForSelector('html[data-ready=yes]')
    return { half, whole, again: await readTexts(), facts: await readFacts() }
  },
  async stops() {
    await open()
    await choose('slow')
    await ask('Count.')
    await waitFor('one two')
    await page.click('#send')
    await page.waitForFunction(() => document.querySelector('.answer').dataset.state === 'stopped')
    await page.waitForFunction(() => document.querySelector('#send').innerText === 'Ask')
    return { texts: await readTexts(), news: await page.$eval('#news', (one) => one.textContent) }
  },
  async decides() {
    await open()
    await choose('clerk')
    await ask('Pay.')
    await page.waitForSelector('.approval')
    await page.reload()
    await page.waitForSelector('.approval')
    await page.fill('.approval textarea', '{"amount": ')
    await page.click('text=Approve as changed')
    const wrong = await page.innerText('.approval .wrong')
    await page.fill('.approval textarea', '{"amount": 2}')
    await page.click('text=Approve as changed')
    await waitFor('Done.')
    await waitForEnd()
    await page.click('.call summary')
    const approved = await readTexts()
    await ask('Pay.')
    await page.click('text=Reject')
    await page.waitForFunction(() => document.querySelectorAll('.answer')[1].innerText.includes('Done.'))
    return { wrong, approved, rejected: (await readTexts())[1] }
  },
  async enters() {
    await page.goto(`${address}/page/`)
    await page.waitForSelector('#door[open]')
    await page.fill('#key', 'not-the-right-key')
    await page.keyboard.press('Enter')
    await page.waitForFunction(() => document.querySelector('#wrong').innerText)
    const wrong = await page.innerText('#wrong')
    await page.fill('#key', 'a-key-of-a-client')
    await page.keyboard.press('Enter')
    await page.waitForSelector('html[data-ready=yes]')
    await choose('one')
    await ask('Why?')
    await waitForEnd()
    return { wrong, texts: (await readTexts()).length, stored: await page.evaluate(() => [sessionStorage.getItem('key'), localStorage.length, document.cookie]) }
  },
}

const seen = await scenes[scene]()
console.log(JSON.stringify({ ...seen, said, hosts: [...hosts] }))
await browser.close()
