/** What a caller's directives add to the rule for one call. Nothing of the operator's is ever replaced by it. */
export interface Asked {
  /** The caller's own system text: a template over clocks, its own variables and what is known of the caller. */
  readonly template?: string
  /** Values for names that no setting, fact or claim fills. */
  readonly variables?: Readonly<Record<string, AskedValue>>
  /** The version of the selected template; counts where that template has it and no rule pins another. */
  readonly version?: string
}

/** A value that a caller gives a name. */
export type AskedValue = string | number | boolean

/** The most a caller may ask: UTF-16 code units of its template and of one value, and how many variables. */
export const askedLimits = { template: 16_384, value: 4_096, variables: 64 } as const
