import { compilePath } from '../path.ts'
import type { PostprocessStep } from './step.ts'
import { variantsOf } from './variants.ts'

// A caller always has these, whatever a claim of the same name says.
const always = new Set(['id', 'tenant', 'tier', 'scopes'])

/** Claims of a caller whose values its answers may not hold, sorted. */
export function claimsOf({ declared, asked: _asked, ...config }: PostprocessStep): readonly string[] {
  const names = new Set(declared)
  const paths = variantsOf(config).flatMap(({ rules: { echo_guard: echo } }) =>
    echo === null ? [] : 'paths' in echo ? echo.paths : echo,
  )
  const claims = paths.flatMap((text) => {
    const { source, steps } = compilePath(text, names)
    const [first, second] = steps
    const name = first === 'claims' ? second : first
    return source === 'facts' && typeof name === 'string' && !always.has(name) ? [name] : []
  })
  return [...new Set(claims)].sort()
}
