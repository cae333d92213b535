/** `label=~"a|b"` in a selector. */
export interface Matcher {
  readonly label: string
  readonly regex: boolean
  readonly value: string
}

/** A metric with what is asked of its labels. */
export interface Selector {
  readonly metric: string
  readonly matchers: readonly Matcher[]
}

/** The names in an expression. */
export interface Names {
  readonly selectors: readonly Selector[]
  /** Labels that are grouped or joined by. */
  readonly grouped: readonly string[]
}

// What the rules use of PromQL; a word that is on neither list counts as a metric.
const words = new Set(['by', 'on', 'group_left', 'ignoring', 'and', 'or', 'unless', 'offset'])
for (const aggregation of ['sum', 'min', 'max', 'avg', 'count', 'group']) words.add(aggregation)
const functions = new Set(['rate', 'increase', 'changes', 'time', 'histogram_quantile', 'vector', 'sqrt', 'clamp_min'])
for (const over of ['avg', 'last']) functions.add(`${over}_over_time`)

/** Reads the names of metrics and labels from an expression. It knows no more of PromQL than `grafana` uses. */
export function namesFromExpression(expr: string): Names {
  const grouped: string[] = []
  const rest = expr
    .replaceAll(/\b(?:by|on|group_left|ignoring)\s*\(([^)]*)\)/g, (_, list: string) => {
      grouped.push(...list.split(',').flatMap((label) => label.trim() || []))
      return ' '
    })
    .replaceAll(/\[\w+\]|offset\s+\w+/g, ' ')
  const selectors: Selector[] = []
  // Braces are taken together with the name before them, so no label is taken for a metric.
  for (const [, metric = '', braces = ''] of rest.matchAll(/(?<![\w.:"])([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?/g)) {
    if (!words.has(metric) && !functions.has(metric)) selectors.push({ metric, matchers: matchersFrom(braces) })
  }
  return { selectors, grouped }
}

function matchersFrom(braces: string): Matcher[] {
  return [...braces.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label = '', operator = '', value = '']) => ({
    label,
    regex: operator.endsWith('~'),
    value,
  }))
}
