/** Dates and times of day found in a text, in one form each, and the text without them. */
export interface SpokenDates {
  /** Such as `2024-03-05`, `m3-05`, `14:30`, `d1` (Monday) or `yesterday`, in order. */
  readonly dates: readonly string[]
  /** Blanks stand where they were. */
  readonly rest: string
}

const months = 'january february march april may june july august september october november december'.split(' ')
const weekdays = 'monday tuesday wednesday thursday friday saturday sunday'.split(' ')
const monthName = months
  .map((name) => (name.length > 4 ? `${name.slice(0, 3)}(?:${name.slice(3)}|t|\\.)?` : name))
  .join('|')
const relative: Readonly<Record<string, string>> = {
  昨天: 'yesterday',
  今天: 'today',
  明天: 'tomorrow',
  昨日: 'yesterday',
  今日: 'today',
  明日: 'tomorrow',
}
const chineseDays = '一二三四五六日'

interface Form {
  readonly pattern: RegExp
  /** The groups as a date; undefined: it is none. */
  readonly say: (groups: readonly (string | undefined)[]) => string | undefined
}

const two = (text: string | undefined): string => (text ?? '').padStart(2, '0')
const monthOf = (name = ''): number => months.findIndex((month) => month.startsWith(name.toLowerCase().slice(0, 3))) + 1

/** The longest first; each takes what it finds out of the text. */
const forms: readonly Form[] = [
  { pattern: /\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/g, say: ([y, m, d]) => `${y}-${two(m)}-${two(d)}` },
  {
    pattern: /(\d{4}) ?年 ?(\d{1,2}) ?月(?: ?(\d{1,2}) ?[日号])?/g,
    say: ([y, m, d]) => `${y}-${two(m)}${d ? `-${two(d)}` : ''}`,
  },
  { pattern: /(?<!\d)(\d{1,2}) ?月 ?(\d{1,2}) ?[日号]/g, say: ([m, d]) => `m${Number(m)}-${two(d)}` },
  { pattern: /\b(\d{1,2})[/.](\d{1,2})[/.](\d{2,4})\b/g, say: ([a, b, c]) => `${a}/${b}/${c}` },
  {
    pattern: new RegExp(`\\b(${monthName}) (\\d{1,2})(?:st|nd|rd|th)?(?:,? (\\d{4}))?\\b`, 'gi'),
    say: ([m, d, y]) => (y ? `${y}-${two(String(monthOf(m)))}-${two(d)}` : `m${monthOf(m)}-${two(d)}`),
  },
  {
    pattern: new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th|\\.)?(?: of)? (${monthName})(?:,? (\\d{4}))?\\b`, 'gi'),
    say: ([d, m, y]) => (y ? `${y}-${two(String(monthOf(m)))}-${two(d)}` : `m${monthOf(m)}-${two(d)}`),
  },
  // "may" and "march" alone are more often verbs.
  {
    pattern: new RegExp(`\\b(${months.filter((name) => name !== 'may' && name !== 'march').join('|')})\\b`, 'gi'),
    say: ([m]) => `m${monthOf(m)}`,
  },
  {
    pattern: new RegExp(`\\b(${weekdays.join('|')})s?\\b`, 'gi'),
    say: ([day = '']) => `d${weekdays.indexOf(day.toLowerCase()) + 1}`,
  },
  {
    pattern: /(?:星期|周|礼拜)([一二三四五六日天])/g,
    say: ([day = '']) => `d${day === '天' ? 7 : chineseDays.indexOf(day) + 1}`,
  },
  {
    pattern: /\b(\d{1,2}):(\d{2})(?::\d{2})?(?: ?([ap])\.?m\b\.?)?/gi,
    say: ([h, m, half]) => `${two(hour(h, half))}:${m}`,
  },
  { pattern: /\b(\d{1,2}) ?([ap])\.?m\b\.?/gi, say: ([h, half]) => `${two(hour(h, half))}:00` },
  { pattern: /\b(yesterday|today|tomorrow)\b/gi, say: ([word = '']) => word.toLowerCase() },
  { pattern: /(昨天|今天|明天|昨日|今日|明日)/g, say: ([word = '']) => relative[word] },
]

function hour(text: string | undefined, half: string | undefined): string {
  const hours = Number(text) % (half ? 12 : 24)
  return String(half?.toLowerCase() === 'p' ? hours + 12 : hours)
}

/** Takes the dates and times of day out of a text (English and Chinese, ISO 8601 and figures). */
export function takeDates(text: string): SpokenDates {
  const found: { readonly at: number; readonly date: string }[] = []
  let rest = text
  for (const { pattern, say } of forms) {
    rest = rest.replace(pattern, (whole: string, ...more: (string | number | undefined)[]) => {
      // The groups come first, then where it was found.
      const groups = more.findIndex((each) => typeof each === 'number')
      const at = more[groups] as number
      const date = say(more.slice(0, groups) as (string | undefined)[])
      if (date === undefined) return whole
      found.push({ at, date })
      return ' '.repeat(whole.length)
    })
  }
  return { dates: found.sort((a, b) => a.at - b.at).map(({ date }) => date), rest }
}
