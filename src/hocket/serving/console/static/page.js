// The page of a gateway: models side by side, what has run, what it cost.
//
// What a model says becomes text nodes and elements that are made here, and never markup: no text is parsed as HTML
// anywhere, and the browser refuses it (Trusted Types). Answers go on at the server when this page goes: a conversation is
// kept in sessionStorage as it was shown, and a run that had not ended is followed from its beginning.

const find = (id) => document.getElementById(id)

function make(tag, facts = {}, ...inside) {
  const svg = ['svg', 'g', 'rect', 'line', 'text'].includes(tag)
  const node = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag)
  for (const [name, value] of Object.entries(facts)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value)
    else if (name.startsWith('--')) node.style.setProperty(name, value)
    else if (value === true) node.setAttribute(name, '')
    else if (value !== false && value != null) node.setAttribute(name, value)
  }
  node.append(...inside.flat(Infinity).filter((one) => one != null && one !== ''))
  return node
}

const newId = () => [...crypto.getRandomValues(new Uint8Array(12))].map((one) => one.toString(16).padStart(2, '0')).join('')
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000))

// -- figures in words

const count = (value) => (value == null ? '–' : value < 1e5 ? value.toLocaleString('en') : value < 1e6 ? `${Math.round(value / 1e3)}k` : `${(value / 1e6).toFixed(2)}M`)

function time(seconds) {
  if (seconds == null) return '–'
  if (seconds < 0.995) return `${seconds.toFixed(2)} s`
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
}

function money(value, unpriced = 0) {
  if (value == null) return '–'
  const number = Number(value)
  const digits = number >= 0.1 || number === 0 ? 2 : Math.min(6, 2 - Math.floor(Math.log10(number)))
  return `$${number.toFixed(digits)}${unpriced ? '+' : ''}`
}

const clock = (at) => new Date(at * 1000).toLocaleTimeString('en-GB')

// -- the server

let opening = null

function openDoor() {
  opening ??= new Promise((resolve) => {
    find('door').showModal()
    find('wrong').textContent = sessionStorage.getItem('key') ? 'This key is not known here.' : ''
    find('keys').onsubmit = (event) => {
      event.preventDefault()
      sessionStorage.setItem('key', find('key').value.trim())
      find('key').value = ''
      find('door').close()
      opening = null
      resolve()
    }
  })
  return opening
}

async function call(path, { body, headers = {}, signal } = {}) {
  for (;;) {
    const key = sessionStorage.getItem('key')
    const own = key ? { authorization: `Bearer ${key}` } : {}
    const kind = body === undefined ? {} : { 'content-type': 'application/json' }
    const asked = { method: body === undefined ? 'GET' : 'POST', headers: { ...own, ...kind, ...headers }, body, signal, cache: 'no-store' }
    const reply = await fetch(path, asked)
    find('forget').hidden = !key
    if (reply.status !== 401) return reply
    await openDoor()
  }
}

async function read(path, signal) {
  const reply = await call(path, { signal })
  const said = await reply.json()
  if (!reply.ok) throw new Error(said.error?.message ?? reply.statusText)
  return said
}

async function* readEvents(reply) {
  let rest = '', id = null, data = ''
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line.startsWith('id: ')) id = line.slice(4)
      else if (line.startsWith('data: ')) data += line.slice(6)
      else if (line === '' && data) {
        yield { id, event: JSON.parse(data) }
        data = ''
      }
    }
  }
}

// -- Markdown, made of elements

const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/
const RULE = /^ {0,3}([-*_])( *\1){2,} *$/
const FENCE = /^ {0,3}(`{3,}|~{3,}) *([\w+#.-]*)/
const TABLE = /^ *\|?[ :]*-[-| :]*$/
const START = (line) => /^(#{1,6} |>)/.test(line) || ITEM.test(line) || RULE.test(line) || FENCE.test(line)
const INLINE = new RegExp([
  '\\\\([!-/:-@[-`{-~])', // 1: what stands for itself
  '(`+)([^]{1,2000}?[^`]|[^`])\\2(?!`)', // 2, 3: code
  '(\\*\\*|__)(?=\\S)([^]{0,2000}?\\S)\\4', // 4, 5: bold
  '\\*(?=[^\\s*])([^*\\n]{1,1000})\\*', // 6: italics
  '(?<![\\w])_(?=[^\\s_])([^_\\n]{1,1000})_(?![\\w])', // 7
  '!?\\[([^\\]\\n]{0,500})\\]\\(<?(https?://[^\\s)>]{1,2000})>?(?: "[^"\\n]{0,200}")?\\)', // 8, 9: a link
  '(https?://[^\\s<>()"]{1,2000}[^\\s<>()"\'.,:;!?*_])', // 10: an address
].join('|'), 'g')

function makeLink(address, inside) {
  const shown = make('a', { href: address, target: '_blank', rel: 'noopener noreferrer' }, inside)
  return shown.textContent === address ? [shown] : [shown, make('span', { class: 'address' }, ` ${address}`)]
}

function makeInline(text, depth = 0) {
  const nodes = []
  let from = 0
  for (const found of depth > 6 ? [] : text.matchAll(INLINE)) {
    const [all, escaped, , code, , bold, italic, slanted, label, address, bare] = found
    nodes.push(text.slice(from, found.index))
    from = found.index + all.length
    if (escaped) nodes.push(escaped)
    else if (code) nodes.push(make('code', {}, code.trim() || code))
    else if (bold) nodes.push(make('strong', {}, makeInline(bold, depth + 1)))
    else if (italic ?? slanted) nodes.push(make('em', {}, makeInline(italic ?? slanted, depth + 1)))
    else nodes.push(...makeLink(address ?? bare, address ? makeInline(label || address, 7) : bare))
  }
  return [...nodes, text.slice(from)]
}

function splitBlocks(text) {
  const blocks = [], lines = text.split('\n')
  for (let at = 0; at < lines.length; ) {
    const from = at, line = lines[at++], fence = FENCE.exec(line)
    if (!line.trim()) continue
    if (fence) while (at < lines.length && !lines[at++].trim().startsWith(fence[1]));
    else if (RULE.test(line) || /^#{1,6} /.test(line));
    else if (ITEM.test(line)) {
      const isOrdered = (one) => /^ *\d/.test(one)
      const goesOn = (next) => next !== undefined && (/^ {2,}\S/.test(next) || (ITEM.test(next) && !RULE.test(next) && isOrdered(next) === isOrdered(line)))
      while (at < lines.length && (lines[at].trim() ? goesOn(lines[at]) || (!START(lines[at]) && lines[at - 1].trim()) : goesOn(lines[at + 1]))) at++
    } else if (line.startsWith('>')) while (lines[at]?.startsWith('>')) at++
    else while (lines[at]?.trim() && !START(lines[at])) at++
    blocks.push(lines.slice(from, at).join('\n'))
  }
  return blocks
}

function makeList(lines, depth) {
  const [, indent, mark] = ITEM.exec(lines[0]), items = []
  for (const line of lines) {
    const found = ITEM.exec(line)
    if (found && found[1].length <= indent.length + 1) items.push([line.slice(found[0].length)])
    else items.at(-1).push(line.replace(/^ {1,4}/, ''))
  }
  const ordered = /\d/.test(mark)
  const made = items.map((item) => {
    const inside = makeBlocks(item.join('\n'), depth + 1)
    return make('li', {}, inside.map((one, at) => (at === 0 && one.tagName === 'P' ? [...one.childNodes] : one)))
  })
  return make(ordered ? 'ol' : 'ul', { start: ordered && parseInt(mark) !== 1 && parseInt(mark) }, made)
}

function makeTable(lines) {
  const rows = lines.map((line) => line.trim().replace(/^\||\|$/g, '').split('|').map((cell) => makeInline(cell.trim())))
  const head = make('tr', {}, rows[0].map((cell) => make('th', {}, cell)))
  const body = rows.slice(2).map((row) => make('tr', {}, row.map((cell) => make('td', {}, cell))))
  return make('div', { class: 'wide', tabindex: 0 }, make('table', {}, make('thead', {}, head), make('tbody', {}, body)))
}

function makeBlock(source, depth) {
  const lines = source.split('\n'), fence = FENCE.exec(source), heading = /^(#{1,6}) +(.*?)[ #]*$/.exec(lines[0])
  if (depth > 6) return make('p', {}, source)
  if (fence) {
    const end = lines.length > 1 && lines.at(-1).trim().startsWith(fence[1]) ? -1 : undefined
    return make('pre', { tabindex: 0, 'data-language': fence[2] || null }, make('code', {}, lines.slice(1, end).join('\n')))
  }
  if (RULE.test(source)) return make('hr')
  if (heading) return make(`h${Math.min(6, heading[1].length + 3)}`, {}, makeInline(heading[2]))
  if (ITEM.test(source)) return makeList(lines, depth)
  if (source.startsWith('>')) return make('blockquote', {}, makeBlocks(lines.map((line) => line.replace(/^> ?/, '')).join('\n'), depth + 1))
  if (lines.length > 1 && lines[0].includes('|') && TABLE.test(lines[1])) return makeTable(lines)
  return make('p', {}, lines.flatMap((line, at) => [at ? (lines[at - 1].endsWith('  ') ? make('br') : '\n') : '', ...makeInline(line.trim())]))
}

const makeBlocks = (text, depth = 0) => splitBlocks(text).map((source) => makeBlock(source, depth))

function drawMarkdown(node, text) {
  const blocks = splitBlocks(text), before = node.blocks ?? []
  blocks.forEach((source, at) => {
    if (source === before[at]) return
    const made = makeBlock(source, 0)
    if (node.children[at]) node.children[at].replaceWith(made)
    else node.append(made)
  })
  while (node.children.length > blocks.length) node.lastChild.remove()
  node.blocks = blocks
}

// -- a call of a tool, and a person's word about it

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function summarize(args) {
  try {
    const told = Object.entries(JSON.parse(args)).map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    return told.join(', ')
  } catch {
    return args
  }
}

function makeCall(part) {
  const told = { approve: 'approved', edit: 'changed', reject: 'rejected' }[part.decision]
  const state = told ?? (part.result == null ? '…' : '')
  const line = make('summary', {}, make('b', {}, part.name), make('span', { class: 'args' }, summarize(part.args)), make('span', { class: 'state' }, state))
  const result = part.result == null ? [] : [make('h4', {}, 'Result'), make('pre', { tabindex: 0 }, part.result)]
  return make('details', { class: 'call' }, line, make('h4', {}, 'Arguments'), make('pre', { tabindex: 0 }, pretty(part.args) || '{}'), result)
}

function makeApproval(part, decide) {
  const given = pretty(part.args) || '{}', wrong = make('p', { class: 'wrong', role: 'alert' })
  const yes = make('button', { type: 'button', class: 'main', onclick: () => approve() }, 'Approve')
  const no = make('button', { type: 'button', class: 'plain', onclick: () => decide({ type: 'reject' }) }, 'Reject')
  const change = () => (yes.textContent = args.value === given ? 'Approve' : 'Approve as changed')
  const args = make('textarea', { rows: Math.min(12, given.split('\n').length), spellcheck: 'false', 'aria-label': `Arguments of ${part.name}`, oninput: change }, given)
  const approve = () => {
    if (args.value === given) return decide({ type: 'approve' })
    try {
      const changed = JSON.parse(args.value)
      if (typeof changed !== 'object' || changed === null || Array.isArray(changed)) throw new Error()
      decide({ type: 'edit', args: changed })
    } catch {
      wrong.textContent = 'The arguments are a JSON object, such as {"amount": 1}.'
      args.setAttribute('aria-invalid', 'true')
    }
  }
  const head = make('p', {}, make('b', {}, part.name), ' waits for your word.')
  return make('div', { class: 'approval', role: 'group', 'aria-label': `Approval of ${part.name}` }, head, args, wrong, make('div', { class: 'line' }, yes, no))
}

// -- an answer

const PARTS = {
  text: (part, node) => drawMarkdown(node, part.text),
  reasoning: (part, node) => {
    if (!node.firstChild) node.append(make('details', { class: 'call' }, make('summary', {}, make('span', { class: 'args' }, 'Thoughts')), make('div', { class: 'thoughts' })))
    node.querySelector('.thoughts').textContent = part.text
  },
  call: (part, node, answer) => {
    const open = node.querySelector('details')?.open ?? false
    node.replaceChildren(part.waits ? makeApproval(part, (decision) => answer.decide(part, decision)) : makeCall(part))
    if (part.waits) requestAnimationFrame(() => node.scrollIntoView({ block: 'nearest' }))
    if (open && node.firstChild.open !== undefined) node.firstChild.open = true
  },
  object: (part, node) => node.replaceChildren(make('pre', { tabindex: 0 }, JSON.stringify(part.data, null, 2))),
  source: (part, node) => node.replaceChildren(...(/^https?:/.test(part.url ?? '') ? makeLink(part.url, part.title || part.url) : [part.title || ''])),
}

const FACTS = ['seconds', 'first_word', 'input_tokens', 'output_tokens', 'cost', 'unpriced']

class Lost extends Error {}

class Answer {
  constructor(data) {
    this.data = data // model, thread, runs: [{id, parts, state, facts}], state, words
    this.nodes = new Map()
    this.dirty = new Set()
    this.parts = make('div', { class: 'parts' })
    this.words = make('p', { class: 'wrong', role: 'alert' })
    this.facts = make('dl', { class: 'facts' })
    this.halt = make('button', { type: 'button', class: 'quiet', onclick: () => this.stop(), 'aria-label': `Stop ${data.model}` }, 'Stop')
    this.node = make('article', { class: 'answer', 'aria-label': data.model }, make('header', {}, make('h3', {}, data.model), this.halt), this.parts, this.words, this.facts)
    for (const run of data.runs) for (const part of run.parts) this.dirty.add(part)
    this.draw()
  }

  get run() { return this.data.runs.at(-1) }
  get calls() { return this.data.runs.flatMap((run) => run.parts).filter((part) => part.kind === 'call') }

  begin(fields) {
    const run = { id: newId(), parts: [], state: 'running', began: Date.now() }
    this.data.runs.push(run)
    this.data.words = ''
    const body = { threadId: this.data.thread, runId: run.id, tools: [], context: [], messages: [], forwardedProps: { model: this.data.model }, ...fields }
    return this.follow(JSON.stringify(body))
  }

  ask(question) { return this.begin({ messages: [{ id: newId(), role: 'user', content: question }] }) }

  decide(part, decision) {
    Object.assign(part, { waits: false, decision: decision.type, ...(decision.args ? { args: JSON.stringify(decision.args) } : {}), answer: decision })
    this.change(part)
    const asked = this.run.waiting.map((id) => this.calls.find((call) => call.id === id))
    if (asked.every((call) => call.answer)) return this.begin({ resume: asked.map((call) => ({ interruptId: call.id, status: 'resolved', payload: call.answer })) })
    saveChat()
  }

  async stop() {
    this.halt.disabled = true
    try {
      await call(`chat/${encodeURIComponent(this.data.thread)}/stop`, { body: '{}' })
    } finally {
      this.halt.disabled = false
    }
  }

  // Reads the events of the run to their end, over as many connections as it takes. Without a body: from its beginning.
  async follow(body) {
    let last = '0'
    if (!body) this.run.parts = []
    this.draw()
    noteState()
    for (let tries = 0; this.run.state === 'running'; ) {
      try {
        const reply = body ? await call('chat', { body }) : await call(`chat/${encodeURIComponent(this.data.thread)}/stream`, { headers: { 'last-event-id': last } })
        if (reply.status === 204) throw new Lost('The server does not have this answer any more.')
        if (!reply.ok) throw new Lost((await reply.json()).error?.message ?? reply.statusText)
        body = null
        for await (const { id, event } of readEvents(reply)) {
          tries = 0
          last = id ?? last
          this.take(event)
        }
        if (this.run.state === 'running') throw new Error('the connection ended')
      } catch (error) {
        body = null
        if (error instanceof Lost || ++tries > 6) this.fail(error instanceof Lost ? error.message : 'The server cannot be reached.')
        else await pause(Math.min(5, 0.25 * 2 ** tries))
      }
    }
    await this.weigh()
    saveChat()
    noteState()
    find('news').textContent = `${this.data.model}: ${{ done: 'the answer is there', waiting: 'a call waits for you', stopped: 'stopped' }[this.run.state] ?? 'failed'}`
  }

  take(event) {
    const run = this.run, known = (kind, id) => run.parts.find((part) => part.kind === kind && part.id === id)
    switch (event.type) {
      case 'RUN_STARTED':
        if (event.runId !== run.id) throw new Lost('The server does not have this answer.')
        break
      case 'TEXT_MESSAGE_START': return this.add({ kind: 'text', id: event.messageId, text: '' })
      case 'REASONING_MESSAGE_START': return this.add({ kind: 'reasoning', id: event.messageId, text: '' })
      case 'TEXT_MESSAGE_CONTENT':
        run.first ??= (Date.now() - run.began) / 1000
        return this.change(known('text', event.messageId), { more: event.delta })
      case 'REASONING_MESSAGE_CONTENT': return this.change(known('reasoning', event.messageId), { more: event.delta })
      case 'TOOL_CALL_START': {
        const part = this.calls.find((one) => one.id === event.toolCallId)
        return part ? this.change(part) : this.add({ kind: 'call', id: event.toolCallId, name: event.toolCallName, args: '' })
      }
      case 'TOOL_CALL_ARGS': {
        const part = this.calls.find((one) => one.id === event.toolCallId)
        part.args += event.delta
        return this.change(part)
      }
      case 'TOOL_CALL_RESULT': return this.change(this.calls.find((one) => one.id === event.toolCallId), { result: event.content })
      case 'STATE_SNAPSHOT': return known('object') ? this.change(known('object'), { data: event.snapshot }) : this.add({ kind: 'object', data: event.snapshot })
      case 'CUSTOM': return event.name === 'source' ? this.add({ kind: 'source', ...event.value }) : undefined
      case 'RUN_ERROR': return this.fail(event.message)
      case 'RUN_FINISHED': return this.finish(event.outcome)
    }
  }

  finish(outcome) {
    this.run.state = { success: 'done', interrupt: 'waiting', cancelled: 'stopped' }[outcome?.type] ?? 'done'
    if (outcome?.type === 'interrupt') {
      this.run.waiting = outcome.interrupts.map((one) => one.toolCallId)
      for (const part of this.calls) if (this.run.waiting.includes(part.id)) this.change(part, { waits: true, answer: null, decision: null })
    }
    this.draw()
  }

  fail(words) {
    this.run.state = 'failed'
    this.data.words = `${words.charAt(0).toUpperCase()}${words.slice(1).replace(/\.$/, '')}.`
    this.draw()
  }

  // The server's own figures, which a reload does not lose.
  async weigh() {
    this.run.ended = Date.now()
    const { runs = [] } = await read(`runs.json?request=${encodeURIComponent(this.run.id)}`).catch(() => ({}))
    const measured = { seconds: (this.run.ended - this.run.began) / 1000, first_word: this.run.first }
    this.run.facts = Object.fromEntries(FACTS.map((name) => [name, (runs[0] ?? measured)[name]]))
    this.draw()
  }

  add(part) {
    this.run.parts.push(part)
    this.change(part)
  }

  change(part, { more, ...fields } = {}) {
    if (!part) return
    Object.assign(part, fields)
    if (more) part.text += more
    this.dirty.add(part)
    this.frame ??= requestAnimationFrame(() => keepBottom(() => this.draw()))
  }

  draw() {
    cancelAnimationFrame(this.frame)
    this.frame = undefined
    const parts = this.data.runs.flatMap((run) => run.parts), run = this.run, running = run?.state === 'running'
    for (const [part, node] of this.nodes) if (!parts.includes(part)) node.remove(), this.nodes.delete(part)
    for (const part of parts) {
      if (!this.nodes.has(part)) {
        this.nodes.set(part, make('div', { class: `part ${part.kind}` }))
        this.parts.append(this.nodes.get(part))
        this.dirty.add(part)
      }
      if (this.dirty.delete(part)) PARTS[part.kind](part, this.nodes.get(part), this)
    }
    this.node.dataset.state = run?.state ?? ''
    this.node.setAttribute('aria-busy', running)
    this.halt.hidden = !running
    this.words.textContent = this.data.words ?? ''
    this.drawFacts()
  }

  drawFacts() {
    const runs = this.data.runs, sum = (name) => runs.map((run) => run.facts?.[name]).filter((one) => one != null).reduce((all, one) => (all ?? 0) + Number(one), null)
    const open = this.run && !this.run.facts ? ((this.run.ended ?? Date.now()) - this.run.began) / 1000 : 0
    const first = runs[0]?.facts ? runs[0].facts.first_word : runs[0]?.first
    const told = [['first word', time(first)], ['total', time((sum('seconds') ?? 0) + open)]]
    const [input, output] = [sum('input_tokens'), sum('output_tokens')]
    if (runs.some((run) => run.facts) && !(this.run.state === 'failed' && input == null)) told.push(['tokens', input == null ? '–' : `${count(input)} → ${count(output)}`], ['cost', money(sum('cost'), sum('unpriced'))])
    if (this.run?.state === 'stopped') told.push(['', 'stopped'])
    this.facts.replaceChildren(...told.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))))
  }
}

// -- the conversation

const chat = { turns: [], threads: {}, chosen: null, ...JSON.parse(sessionStorage.getItem('chat') ?? '{}') }
let answers = []

const isRunning = () => answers.some((one) => one.run?.state === 'running')

function saveChat() {
  for (;;) {
    try {
      return sessionStorage.setItem('chat', JSON.stringify(chat))
    } catch {
      if (chat.turns.length < 2) return
      chat.turns.shift() // the browser keeps some megabytes
    }
  }
}

// Stays at the end of the page while it grows, if that is where the reader is.
function keepBottom(change) {
  const page = document.documentElement, atEnd = page.scrollHeight - page.scrollTop - page.clientHeight < 80
  change()
  if (atEnd && !find('chat').hidden) page.scrollTop = page.scrollHeight
}

function noteState() {
  const running = isRunning()
  find('send').textContent = running ? 'Stop' : 'Ask'
  find('send').classList.toggle('stops', running)
  find('anew').hidden = running || !chat.turns.length
  find('chat').classList.toggle('fresh', !chat.turns.length)
  find('hint').textContent = ''
}

function showTurn(turn) {
  const made = turn.answers.map((data) => new Answer(data))
  answers.push(...made)
  find('turns').append(make('section', { class: 'turn' }, make('h2', { class: 'question' }, turn.question), make('div', { class: 'answers', '--count': made.length }, made.map((one) => one.node))))
  return made
}

function ask() {
  if (isRunning()) return answers.filter((one) => one.run?.state === 'running').forEach((one) => one.stop())
  const question = find('question').value.trim(), chosen = chosenModels()
  if (!question || !chosen.length) return (find('hint').textContent = question ? 'Choose who answers.' : '')
  const begun = chosen.map((model) => ({ model, thread: (chat.threads[model] ??= newId()), runs: [] }))
  const turn = { question, answers: begun }
  chat.turns.push(turn)
  const made = showTurn(turn)
  made.forEach((one) => one.ask(question))
  saveChat()
  find('question').value = ''
  noteState()
  made[0].node.parentNode.parentNode.scrollIntoView({ block: 'start' })
}

function clearChat() {
  Object.assign(chat, { turns: [], threads: {} })
  answers = []
  find('turns').replaceChildren()
  saveChat()
  noteState()
  find('question').focus()
}

const chosenModels = () => [...find('choice').querySelectorAll('input:checked')].map((one) => one.value)

function showChoice(models) {
  const known = models.map((one) => one.name)
  const chosen = (chat.chosen ?? known.slice(0, 2)).filter((name) => known.includes(name))
  const save = () => ((chat.chosen = chosenModels()), saveChat())
  const chips = models.map(({ name, kind }) => {
    const box = make('input', { type: 'checkbox', value: name, checked: chosen.includes(name), onchange: save })
    return make('label', { class: 'chip' }, box, make('span', {}, name, kind === 'agent' ? make('i', {}, ' agent') : null))
  })
  find('choice').replaceChildren(find('choice').firstElementChild, ...chips)
}

async function beginChat() {
  noteState()
  for (const turn of chat.turns) for (const one of showTurn(turn)) if (one.run?.state === 'running') one.follow(null)
  noteState()
  window.scrollTo(0, document.documentElement.scrollHeight)
  try {
    showChoice(await read('models.json'))
  } catch (error) {
    find('hint').textContent = error.message
  }
  document.documentElement.dataset.ready = 'yes'
}

find('composer').addEventListener('submit', (event) => (event.preventDefault(), ask()))
find('question').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) event.preventDefault(), isRunning() || ask()
})
if (!CSS.supports('field-sizing', 'content')) find('question').addEventListener('input', ({ target }) => (target.rows = Math.min(12, target.value.split('\n').length)))
find('anew').addEventListener('click', clearChat)
find('door').addEventListener('cancel', (event) => event.preventDefault())
find('forget').addEventListener('click', () => (sessionStorage.clear(), location.reload()))
setInterval(() => answers.forEach((one) => one.run?.state === 'running' && one.drawFacts()), 100)

// -- runs

const runs = { version: null, shown: new Map(), timer: null }

function makeBar(run, from, whole) {
  const seconds = run.seconds ?? Math.max(0, Date.now() / 1000 - run.at)
  const share = (value) => `${Math.min(100, Math.max(0, whole ? (value / whole) * 100 : 0)).toFixed(2)}%`
  return make('span', { class: 'bar', 'data-state': run.state, '--from': share(run.at - from), '--size': share(seconds) }, make('span', {}))
}

function makeRow(run, name, from, whole, ...more) {
  const tokens = run.input_tokens == null ? '' : `${count(run.input_tokens)} → ${count(run.output_tokens)}`
  const cost = run.cost == null ? '' : money(run.cost, run.unpriced)
  return [
    make('span', { class: 'who' }, make('i', { class: `dot ${run.state}`, title: run.state }), make('span', { class: 'name' }, name), ...more),
    makeBar(run, from, whole),
    make('span', { class: 'number' }, run.seconds == null ? 'running' : time(run.seconds)),
    make('span', { class: 'number' }, tokens),
    make('span', { class: 'number' }, cost),
    run.error && !run.inside.some((one) => one.error === run.error) ? make('span', { class: 'wrong' }, run.error) : null,
  ]
}

function makeMessages(title, messages) {
  const told = messages.map(({ role, text, reasoning, calls = [] }) => make('div', { class: 'message' },
    make('h5', {}, role || title),
    reasoning ? make('p', { class: 'thoughts' }, reasoning) : null,
    text ? make('p', { class: 'said' }, text) : null,
    calls.map((one) => make('p', { class: 'said code' }, `${one.name}(${one.args})`))))
  return told.length ? make('div', { class: 'side' }, make('h4', {}, title), told) : null
}

async function openTexts(details, id) {
  const room = details.querySelector('.texts')
  if (!details.open || room.childNodes.length) return
  try {
    const { asked, said } = await read(`runs.json?id=${encodeURIComponent(id)}`)
    room.replaceChildren(...[makeMessages('In', asked), makeMessages('Out', said)].filter(Boolean))
  } catch (error) {
    room.replaceChildren(make('p', { class: 'wrong' }, error.message))
  }
}

function makeBranch(run, root, whole, depth) {
  const kind = make('span', { class: 'kind' }, run.kind)
  const line = make('summary', { class: 'row', '--depth': depth }, makeRow(run, run.name, root.at, whole, kind))
  const leaf = make('details', { ontoggle: (event) => openTexts(event.target, run.id) }, line, make('div', { class: 'texts' }))
  const inside = run.inside.map((one) => makeBranch(one, root, whole, depth + 1))
  const more = run.left_out ? make('li', { class: 'note' }, `${run.left_out} more`) : null
  return make('li', {}, leaf, inside.length || more ? make('ul', {}, inside, more) : null)
}

function makeTree(root, longest) {
  const more = [make('time', { class: 'kind' }, clock(root.at)), root.tenant ? make('span', { class: 'kind' }, root.tenant) : null]
  const whole = root.seconds ?? Date.now() / 1000 - root.at
  const details = make('details', { class: 'root' }, make('summary', { class: 'row' }, makeRow(root, root.served, root.at, longest, ...more)))
  details.addEventListener('toggle', () => {
    const branches = root.name === 'Conversation' && root.inside.length ? root.inside : [root] // the page's own, around a model
    if (details.open && details.childElementCount === 1) details.append(make('ul', { class: 'branches' }, branches.map((one) => makeBranch(one, root, whole, 1))))
  })
  return details
}

async function showRuns() {
  clearTimeout(runs.timer)
  if (find('runs').hidden) return
  try {
    const told = await read(`runs.json${runs.version == null ? '' : `?version=${runs.version}`}`)
    runs.version = told.version
    if (told.runs) drawRuns(told.runs)
  } catch (error) {
    runs.version = null
    find('tree').replaceChildren(make('p', { class: 'wrong' }, error.message))
    runs.shown.clear()
  }
  clearTimeout(runs.timer)
  runs.timer = setTimeout(showRuns, 2000)
}

// Makes anew what has changed, and leaves the rest as its reader has opened it.
function drawRuns(roots) {
  const longest = Math.max(0, ...roots.map((one) => one.seconds ?? 0))
  const heading = make('div', { class: 'row heads', 'aria-hidden': 'true' }, ...['Run', 'Time', '', 'Tokens', 'Cost'].map((name) => make('span', {}, name)))
  const nodes = roots.map((root) => {
    const said = JSON.stringify([root, longest]), old = runs.shown.get(root.id)
    if (old?.said === said) return old.node
    const node = makeTree(root, longest)
    node.open = old?.node.open ?? false
    runs.shown.set(root.id, { said, node })
    return node
  })
  const empty = make('p', { class: 'empty' }, 'Nothing has run yet. What clients ask for, and what is asked on this page, will be here.')
  find('tree').replaceChildren(...(nodes.length ? [heading, ...nodes] : [empty]))
}

// -- usage

const usage = { by: 'model', days: '30', show: 'cost' }
const SERIES = 6
const SHOWN = {
  cost: { name: 'Cost', of: (row) => Number(row.cost), say: (value) => money(value) },
  tokens: { name: 'Tokens', of: (row) => row.input_tokens + row.output_tokens, say: count },
  calls: { name: 'Calls', of: (row) => row.calls, say: count },
}

function makeSwitch(name, options) {
  const inside = Object.entries(options).map(([value, label]) => {
    const change = () => ((usage[name] = value), name === 'show' ? drawUsage() : showUsage())
    return make('label', {}, make('input', { type: 'radio', name, value, checked: usage[name] === value, onchange: change }), make('span', {}, label))
  })
  return make('fieldset', { class: 'switch' }, make('legend', { class: 'unseen' }, name), inside)
}

async function showUsage() {
  usage.asked?.abort()
  const asked = (usage.asked = new AbortController())
  try {
    usage.told = await read(`usage.json?by=${usage.by}&days=${usage.days}`, asked.signal)
    drawUsage()
  } catch (error) {
    if (error.name !== 'AbortError') find('figures').replaceChildren(make('p', { class: 'wrong' }, error.message))
  }
}

function listDays(days) {
  const today = Date.now()
  return Array.from({ length: days }, (_, at) => new Date(today - (days - 1 - at) * 864e5).toISOString().slice(0, 10))
}

function sumGroups(rows, of) {
  const groups = new Map()
  for (const row of rows) {
    const group = groups.get(row.name) ?? { name: row.name, calls: 0, failed: 0, cached: 0, input_tokens: 0, output_tokens: 0, cache_read: 0, cost: 0, unpriced: 0 }
    for (const field of Object.keys(group)) if (field !== 'name') group[field] += Number(row[field])
    groups.set(row.name, group)
  }
  return [...groups.values()].sort((one, other) => of(other) - of(one) || other.calls - one.calls)
}

const callGroup = (name) => name || (usage.by === 'tenant' ? 'no tenant' : 'unnamed')

function drawUsage() {
  const { ledger, rows = [] } = usage.told
  find('switches').hidden = !ledger
  if (!ledger) return find('figures').replaceChildren(...explainLedger())
  const shown = SHOWN[usage.show], groups = sumGroups(rows, shown.of)
  if (!rows.length) return find('figures').replaceChildren(make('p', { class: 'empty' }, `The ledger has no calls of the last ${usage.days} days.`))
  find('figures').replaceChildren(makePlot(rows, groups, shown), makeSums(groups))
}

function explainLedger() {
  const line = 'hocket serve openai:gpt-5.2 --page --ledger usage.sqlite\n\n# or in a program\nfrom hocket.ledger import SQLiteLedger, set_ledger\n\nset_ledger(SQLiteLedger("usage.sqlite"))'
  return [
    make('p', { class: 'empty' }, 'There is no ledger yet. With one, every call is written down: who asked which model, what it used, and what it cost.'),
    make('pre', { class: 'recipe', tabindex: 0 }, make('code', {}, line)),
  ]
}

// The next of 1, 2, 5, 10, 20 ... of any size.
function roundUp(value) {
  const size = 10 ** Math.floor(Math.log10(value || 1))
  return [1, 2, 4, 6, 8, 10].map((one) => one * size).find((one) => one >= value * 0.999)
}

function makePlot(rows, groups, shown) {
  const room = find('figures').clientWidth || 800, [width, height, left, top, low] = [room, room < 500 ? 220 : 300, 56, 12, 28]
  const days = listDays(Number(usage.days)), names = groups.slice(0, SERIES).map((one) => one.name)
  const perDay = new Map(days.map((day) => [day, new Array(SERIES + 1).fill(0)]))
  for (const row of rows) {
    const at = names.indexOf(row.name)
    if (perDay.has(row.day)) perDay.get(row.day)[at < 0 ? SERIES : at] += shown.of(row)
  }
  const total = (day) => perDay.get(day).reduce((one, other) => one + other, 0)
  const most = roundUp(Math.max(shown === SHOWN.cost ? 0 : 2, ...days.map(total))), plot = height - top - low
  const y = (value) => top + plot - (most ? (value / most) * plot : 0), step = (width - left) / days.length
  const lines = [0, 0.5, 1].map((share) => make('g', { class: 'rule' },
    make('line', { x1: left, x2: width, y1: y(most * share), y2: y(most * share) }),
    make('text', { x: left - 10, y: y(most * share) + 4, 'text-anchor': 'end' }, share ? shown.say(most * share) : '0')))
  const every = Math.ceil(days.length / Math.max(2, Math.floor((width - left) / 90)))
  const dates = days.map((day, at) => (days.length - 1 - at) % every ? null : make('text', { class: 'date', x: at === days.length - 1 ? width : left + (at + 0.5) * step, y: height - 6, 'text-anchor': at === days.length - 1 ? 'end' : 'middle' }, sayDay(day)))
  const bars = days.map((day, at) => {
    let sum = 0
    const gap = Math.min(step * 0.28, 10), stack = perDay.get(day).map((value, series) => {
      if (!value) return null
      const bottom = y(sum), head = y((sum += value))
      return make('rect', { class: `series s${series}`, x: left + at * step + gap / 2, width: Math.max(1, step - gap), y: head, height: Math.max(0.5, bottom - head) })
    })
    return make('g', { class: 'day' }, stack, make('rect', { class: 'over', x: left + at * step, width: step, y: top, height: plot }))
  })
  const readout = make('p', { class: 'readout', 'aria-live': 'polite' })
  const tell = (at) => {
    bars.forEach((one, other) => one.classList.toggle('lit', other === at))
    const sum = days.reduce((all, day) => all + total(day), 0)
    if (at == null) return readout.replaceChildren(make('b', {}, shown.say(sum)), ` in ${usage.days} days`)
    const said = perDay.get(days[at]).map((value, series) => (value ? `${series < names.length ? callGroup(names[series]) : 'others'} ${shown.say(value)}` : null))
    readout.replaceChildren(make('b', {}, shown.say(total(days[at]))), ` on ${sayDay(days[at])}`, make('span', {}, said.filter(Boolean).join('  ·  ')))
  }
  let chosen = null
  bars.forEach((one, at) => one.addEventListener('pointerenter', () => tell((chosen = at))))
  const move = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (by) event.preventDefault(), tell((chosen = Math.min(days.length - 1, Math.max(0, (chosen ?? days.length - by) + by))))
  }
  const svg = make('svg', { class: 'plot', viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', tabindex: 0, 'aria-label': `${shown.name} a day, by ${usage.by}: the table below has the sums. Arrow keys tell each day.`, onkeydown: move, onpointerleave: () => tell((chosen = null)) }, lines, dates, bars)
  tell(null)
  return make('figure', {}, readout, svg)
}

const sayDay = (day) => new Date(`${day}T00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

function makeSums(groups) {
  const all = sumGroups(groups.map((one) => ({ ...one, name: 'All' })), () => 0)[0]
  const cell = (text) => make('td', { class: 'number' }, text)
  const row = (group, series) => make('tr', {},
    make('th', { scope: 'row' }, make('i', { class: `swatch ${series == null ? 'none' : `s${Math.min(series, SERIES)}`}` }), series == null ? group.name : callGroup(group.name)),
    cell(count(group.calls)), cell(group.failed ? count(group.failed) : ''), cell(count(group.input_tokens)),
    cell(group.input_tokens ? `${Math.round((group.cache_read / group.input_tokens) * 100)} %` : ''), cell(count(group.output_tokens)), cell(group.unpriced < group.calls ? money(group.cost, group.unpriced) : '–'))
  const heads = [usage.by, 'calls', 'failed', 'tokens in', 'cached', 'tokens out', 'cost'].map((name, at) => make('th', { scope: 'col', class: at ? 'number' : null }, name))
  const foot = groups.length > 1 ? make('tfoot', {}, row(all)) : null
  const plus = all.unpriced ? make('p', { class: 'note' }, '+ the price of some calls is not known') : null
  return make('div', {}, make('div', { class: 'wide', tabindex: 0 }, make('table', { class: 'sums' }, make('thead', {}, make('tr', {}, heads)), make('tbody', {}, groups.map(row)), foot)), plus)
}

// -- the views

const VIEWS = { chat: noteState, runs: showRuns, usage: showUsage }

function showView() {
  const name = location.hash.slice(1) in VIEWS ? location.hash.slice(1) : 'chat'
  for (const one of Object.keys(VIEWS)) find(one).hidden = one !== name
  for (const link of document.querySelectorAll('nav a')) link.setAttribute('aria-current', link.hash === `#${name}` ? 'page' : 'false')
  window.scrollTo(0, name === 'chat' ? document.documentElement.scrollHeight : 0)
  VIEWS[name]()
}

find('switches').append(
  makeSwitch('show', { cost: 'Cost', tokens: 'Tokens', calls: 'Calls' }),
  makeSwitch('by', { model: 'By model', tenant: 'By tenant' }),
  makeSwitch('days', { 7: '7 days', 30: '30 days', 90: '90 days' }))
window.addEventListener('hashchange', showView)
let drawn = 0
window.addEventListener('resize', () => {
  clearTimeout(drawn)
  drawn = setTimeout(() => !find('usage').hidden && usage.told && drawUsage(), 100)
})
showView()
beginChat()
