"""Texts of four kinds, put together from a stock of sentences and lines: what people write, without a library of it."""

import random

__all__ = ["KINDS", "text_of"]

_ENGLISH = """
The committee met on Tuesday to discuss the proposal, but nobody could agree on what it meant.
I tried your suggestion yesterday and the printer still refuses to connect; the light keeps blinking.
Could you explain why the second figure differs from the one in last year's report?
She packed two shirts, a torch and an old map of the coast, then locked the door behind her.
Most of the delay comes from the supplier, who changed the packaging without telling anyone.
It isn't the price that bothers me, it's that the invoice arrived three weeks after the goods.
Photosynthesis turns light into chemical energy, which the plant stores as sugar and starch.
Please write a short, friendly reply that declines the invitation without giving a reason.
The river had flooded twice before, in 1956 and 1987, but never as early as March.
He said, "You can't park here," and pointed at a sign that had been painted over.
A good soup needs time, salt and patience; the rest is largely a matter of taste.
Unfortunately the configuration is overwritten whenever the service restarts after an update.
Our grandmother kept bees for forty years and was stung, she claimed, exactly nine times.
What would happen to interest rates if unemployment fell below four per cent?
The orchestra rehearsed until midnight, because the conductor distrusted the acoustics of the hall.
Turn left at the bakery, cross the bridge, and you'll see the museum on your right-hand side.
Translation is not the art of failure, whatever the reviewers of that novel may have written.
We measured the temperature every ten minutes and found no significant difference between groups.
"""

_GERMAN = """
Der Ausschuss traf sich am Dienstag, um über den Vorschlag zu beraten, doch niemand war sich einig.
Ich habe Ihren Rat gestern befolgt, aber der Drucker lässt sich immer noch nicht verbinden.
Können Sie mir erklären, warum die zweite Zahl von der im Jahresbericht abweicht?
Sie packte zwei Hemden, eine Taschenlampe und eine alte Küstenkarte ein und schloss die Tür ab.
Die Verzögerung liegt größtenteils am Lieferanten, der die Verpackung unangekündigt geändert hat.
Mich stört nicht der Preis, sondern dass die Rechnung drei Wochen nach der Ware eintraf.
Bei der Photosynthese wird Licht in chemische Energie umgewandelt und als Stärke gespeichert.
Bitte schreiben Sie eine kurze, freundliche Antwort, die die Einladung ohne Begründung ablehnt.
Der Fluss war schon zweimal über die Ufer getreten, 1956 und 1987, aber nie bereits im März.
„Hier dürfen Sie nicht parken“, sagte er und zeigte auf ein übermaltes Schild.
Eine gute Suppe braucht Zeit, Salz und Geduld; alles Übrige ist weitgehend Geschmackssache.
Leider wird die Konfiguration bei jedem Neustart des Dienstes nach einer Aktualisierung überschrieben.
Unsere Großmutter hielt vierzig Jahre lang Bienen und wurde angeblich genau neunmal gestochen.
Was geschähe mit den Zinssätzen, wenn die Arbeitslosenquote unter vier Prozent fiele?
Das Orchester probte bis Mitternacht, weil der Dirigent der Raumakustik misstraute.
Biegen Sie an der Bäckerei links ab, überqueren Sie die Brücke, und Sie sehen das Museum.
Wir haben alle zehn Minuten die Temperatur gemessen und keinen wesentlichen Unterschied gefunden.
"""

_CHINESE = """
委员会星期二开会讨论这项提案,但是没有人能就它的含义达成一致。
我昨天按照你的建议试过了,打印机还是连接不上,指示灯一直在闪。
你能解释一下,为什么第二个数字跟去年报告里的不一样吗?
她带了两件衬衫、一个手电筒和一张旧的海岸地图,然后锁上了门。
延误主要是供应商造成的,他们没有通知任何人就更换了包装。
我在意的不是价格,而是发票比货物晚到了三个星期。
光合作用把光能转化为化学能,植物再把它储存为糖和淀粉。
请写一封简短友好的回信,婉拒邀请,但不必说明理由。
这条河以前泛滥过两次,分别在1956年和1987年,但从来没有早到三月。
他指着一块被涂掉的牌子说:“这里不能停车。”
好汤需要时间、盐和耐心,其余的大多是口味问题。
可惜每次更新之后服务重新启动,配置文件都会被覆盖。
我们的祖母养了四十年蜜蜂,据她说只被蜇过九次。
如果失业率降到百分之四以下,利率会发生什么变化?
乐团一直排练到半夜,因为指挥不相信这个大厅的音响效果。
在面包店左转,过桥以后就能看到右手边的博物馆。
我们每十分钟测量一次温度,没有发现各组之间有显著差异。
"""

_CODE = """
def mean(values: list[float]) -> float:
    total = sum(values)
    return total / len(values) if values else 0.0
class Stack(list):
    def push(self, item: int) -> None:
        self.append(item)
for index, (name, value) in enumerate(sorted(settings.items())):
    print(f"{index:>3} {name}={value!r}")
if response.status_code != 200:
    raise RuntimeError("server said " + str(response.status_code))
import collections, itertools, os.path
with open(path, encoding="utf-8") as file:
    rows = [line.rstrip().split(";") for line in file if not line.startswith("#")]
const MAX_RETRIES = 5; // as the server asks
function debounce(callback, wait = 250) {
  let timer = null;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => callback(...args), wait); };
}
SELECT name, count(*) AS n FROM orders WHERE placed_at >= '2024-01-01' GROUP BY name ORDER BY n DESC;
    try:
        result = await client.fetch(url, timeout=30)
    except (TimeoutError, ConnectionError) as error:
        logger.warning("attempt %d failed: %s", attempt, error)
        await asyncio.sleep(2 ** attempt)
x = np.zeros((16, 32), dtype=np.float32)
assert parse("[1, 2, {\\"a\\": null}]") == [1, 2, {"a": None}]
while (node != NULL && node->next != NULL) { node = node->next; depth++; }
"""

KINDS = {"english": _ENGLISH, "german": _GERMAN, "chinese": _CHINESE, "code": _CODE}


def text_of(kind: str, rng: random.Random) -> str:
    """Return a text of a kind: 4 to 30 of its sentences or lines."""
    lines = KINDS[kind].strip("\n").split("\n")
    return ("\n" if kind == "code" else " ").join(rng.choice(lines) for _ in range(rng.randint(4, 30)))
