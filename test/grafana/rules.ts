import { parse } from 'yaml'
import { pageFrom } from '../docs/page.ts'

/** A rule of a Prometheus rule file: an alert, or a recording rule. */
export interface Rule {
  readonly alert?: string
  readonly record?: string
  readonly expr: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** An alert with everything that one has to have. */
export interface Alert extends Rule {
  readonly alert: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
}

/** Every rule of `grafana/alerts.yaml`, in order. */
export const rules: readonly Rule[] = (parse(pageFrom('grafana/alerts.yaml')) as RuleFile).groups.flatMap(
  (group) => group.rules,
)

/** Its alerts; labels and annotations are empty where a rule has none. */
export const alerts: readonly Alert[] = rules.flatMap(({ alert, labels = {}, annotations = {}, ...rest }) =>
  alert === undefined ? [] : [{ ...rest, alert, labels, annotations }],
)

/** Its recording rules by name. */
export const recorded: ReadonlyMap<string, Rule> = new Map(
  rules.flatMap((rule) => (rule.record === undefined ? [] : [[rule.record, rule] as const])),
)

/** One check of a unit test: whether an alert fires at an instant. */
export interface AlertCheck {
  readonly alertname: string
  readonly exp_alerts: readonly unknown[]
}

interface TestFile {
  readonly tests: readonly { readonly alert_rule_test: readonly AlertCheck[] }[]
}

/** The files of unit tests, by their paths from the root. */
export const testFiles: readonly string[] = ['grafana/alerts.test.yaml', 'grafana/alerts-days.test.yaml']

/** Every check of the unit tests. */
export const alertChecks: readonly AlertCheck[] = testFiles.flatMap((path) =>
  (parse(pageFrom(path)) as TestFile).tests.flatMap((test) => test.alert_rule_test),
)
