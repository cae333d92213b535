/** English number words that are numbers wherever they stand: not "one", which is a pronoun more often. */
const words: Readonly<Record<string, number>> = Object.fromEntries([
  ...'zero,,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,fifteen,sixteen,seventeen,eighteen,nineteen'
    .split(',')
    .map((word, value) => [word, value] as const)
    .filter(([word]) => word !== ''),
  ...'twenty,thirty,forty,fifty,sixty,seventy,eighty,ninety'
    .split(',')
    .map((word, at) => [word, 20 + 10 * at] as const),
])
const scales: Readonly<Record<string, number>> = {
  hundred: 1e2,
  thousand: 1e3,
  million: 1e6,
  billion: 1e9,
  dozen: 12,
  half: 0.5,
  double: 2,
  twice: 2,
  triple: 3,
  万: 1e4,
  亿: 1e8,
  k: 1e3,
  m: 1e6,
  bn: 1e9,
}
const tens = 'twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety'
const ones = 'one|two|three|four|five|six|seven|eight|nine'
const digits = '零〇一二三四五六七八九'

// A figure with its scale; tens with ones; a word; a Chinese number of two signs or with a measure word behind it.
const pattern = new RegExp(
  [
    String.raw`(?<figure>(?:(?<![\w)])[-−])?(?<!\d|\d[.,])\d+(?:[.,]\d+)*)(?: ?(?<scale>million|billion|thousand|hundred|万|亿|bn\b|[km]\b))?`,
    String.raw`\b(?<tens>${tens})[- ](?<ones>${ones})\b`,
    String.raw`\b(?<word>${[...Object.keys(words), 'hundred', 'thousand', 'million', 'billion', 'dozen', 'half', 'double', 'twice', 'triple'].join('|')})s?\b`,
    `(?<chinese>[${digits}两十百千万亿点]{2,}|[${digits}两十百千](?=[年月日号元块分秒时岁次倍％%米克斤吨]))`,
  ].join('|'),
  'giu',
)

/** The numbers that a text says, in figures and words (English and Chinese), in order; markers of lists are none. */
export function numbersIn(text: string): readonly string[] {
  const unlisted = text.replace(/^[ \t]*(?:\d{1,3}[.)、]|\(\d{1,3}\))(?=\s|[^\d\s])(?!\d)/gm, ' ')
  return [...unlisted.normalize('NFKC').matchAll(pattern)].map(({ groups = {} }) => String(numberFrom(groups)))
}

function numberFrom(groups: Readonly<Record<string, string | undefined>>): number | string {
  const { figure, scale, tens: ten, ones: one, word, chinese } = groups
  if (figure !== undefined) {
    const value = figureValue(figure)
    const times = scale === undefined ? 1 : (scales[scale.toLowerCase()] ?? 1)
    return typeof value === 'number' ? Number((value * times).toPrecision(15)) : value
  }
  if (ten !== undefined && one !== undefined) {
    return (words[ten.toLowerCase()] ?? 0) + (one.toLowerCase() === 'one' ? 1 : (words[one.toLowerCase()] ?? 0))
  }
  if (word !== undefined) return words[word.toLowerCase()] ?? scales[word.toLowerCase()] ?? word
  return chineseValue(chinese ?? '')
}

/** `1,234.50` and `1.234,50` are one number; of `1,234` or `1.234` the comma separates thousands and the point a fraction. */
function figureValue(text: string): number | string {
  const plain = text.replace('−', '-')
  const european = /^-?\d{1,3}(\.\d{3})+,\d+$/.test(plain)
  const english = european ? plain.replaceAll('.', '').replace(',', '.') : plain.replace(/,(?=\d{3}(?!\d))/g, '')
  // Versions and addresses are no numbers, but must not change either.
  return /^-?\d{1,15}(\.\d+)?$/.test(english) ? Number(english) : english
}

const small: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1_000 }

function chineseValue(text: string): number | string {
  if (/^[零〇一二三四五六七八九点]+$/.test(text)) return chineseDigits(text)
  let [sum, section, digit] = [0, 0, 0]
  for (const sign of text) {
    if (sign === '两') digit = 2
    else if (digits.includes(sign)) digit = signValue(sign)
    else if (small[sign]) {
      section += (digit || 1) * (small[sign] ?? 1)
      digit = 0
    } else if (sign === '万' || sign === '亿') {
      sum = (sum + section + digit) * (scales[sign] ?? 1)
      ;[section, digit] = [0, 0]
    } else return text
  }
  return sum + section + digit
}

function chineseDigits(text: string): number | string {
  const figures = [...text].map((sign) => (sign === '点' ? '.' : String(signValue(sign)))).join('')
  return /^\d+(\.\d+)?$/.test(figures) ? Number(figures) : text
}

function signValue(sign: string): number {
  return Math.max(0, digits.indexOf(sign) - 1)
}
