// Opens pages of evaluations in Chromium: node page_browser.mjs FOLDER PAGE...
// FOLDER has npm's playwright-core. Prints, as JSON, what was seen; with PICTURES=folder, keeps what it looked like.
import { createRequire } from 'node:module'

const [folder, ...files] = process.argv.slice(2)
const { chromium } = createRequire(`${folder}/page.js`)('playwright-core')
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] })
const said = []
const loaded = []
const seen = []

for (const file of files) for (const [width, height] of [[360, 740], [800, 900], [1400, 1000]]) for (const colorScheme of ['light', 'dark']) {
  const page = await (await browser.newContext({ colorScheme, viewport: { width, height } })).newPage()
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  page.on('dialog', (dialog) => (said.push(`dialog: ${dialog.message()}`), dialog.dismiss()))
  page.on('request', (request) => loaded.push(request.url()))
  await page.goto(`file://${file}`)
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${file.split('/').pop()}-${width}-${colorScheme}.png` })
  const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  const folded = await overflow()
  await page.focus('summary')
  await page.keyboard.press('Enter')
  const opened = await page.$eval('details', (one) => one.open)
  await page.$$eval('details', (all) => all.forEach((one) => (one.open = true)))
  const plot = await page.$eval('.estimates svg', (one) => one.getBoundingClientRect())
  const colours = await page.$eval('html', (one) => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor])
  seen.push({ width, colorScheme, overflow: [folded, await overflow()], opened, plot: plot.width, colours })
  await page.context().close()
}
await browser.close()
console.log(JSON.stringify({ said, loaded: [...new Set(loaded)], seen }))
