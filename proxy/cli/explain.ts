import { GatewayError, gatewayError } from '../../plugins/errors.ts'
import type { LayerStory } from '../admin/layer-view.ts'
import type { CallStory } from '../admin/stories.ts'
import { type AdminClient, adminOptions, adminsFromInvocation } from './admin-client.ts'
import { linesFromCall } from './explain-call-lines.ts'
import { linesFromLayer } from './explain-layer-lines.ts'
import { formatFromInvocation, outputOption, printData } from './output.ts'
import type { Verb } from './verb.ts'

type Story = { readonly layer: LayerStory } | { readonly call: CallStory }

/** `foldgate explain LAYER|REQUEST-ID`: what a layer does, or what happened to one call. */
export const explain: Verb = {
  name: 'explain',
  summary: 'say what a layer does here, or what happened to one call',
  usage: 'LAYER|REQUEST-ID [--admin URL]… [-o FORMAT]',
  example: 'foldgate explain cache\nfoldgate explain 5f1c9d3e-7a40-4d0e-9a8e-1f2b3c4d5e6f',
  options: { ...adminOptions, ...outputOption },
  takes: [1, 1],
  async run(invocation) {
    const { io } = invocation
    const [asked = ''] = invocation.positionals
    const format = formatFromInvocation(invocation)
    for (const admin of adminsFromInvocation(invocation)) {
      const story = await storyFrom(admin, asked)
      if (!story) continue
      const [value, name] = 'layer' in story ? [story.layer, story.layer.name] : [story.call, story.call.requestId]
      if (printData(io, format, { admin: admin.url, ...value })) return 0
      if (format === 'name') io.out(name)
      else io.out('layer' in story ? linesFromLayer(story.layer) : linesFromCall(story.call, io.color))
      return 0
    }
    throw gatewayError(
      'not_found',
      `${JSON.stringify(asked.slice(0, 80))} is neither a layer nor a call that is still remembered`,
    )
  },
}

/** A name of a layer counts first; anything else is taken for an id. A replica that does not know either gives nothing. */
async function storyFrom(admin: AdminClient, asked: string): Promise<Story | undefined> {
  const word = encodeURIComponent(asked)
  const layer = await found(admin.get<LayerStory>(`/-/explain?layer=${word}`))
  if (layer) return { layer }
  const call = await found(admin.get<CallStory>(`/-/explain?id=${word}`))
  return call && { call }
}

async function found<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked
  } catch (reason) {
    if (reason instanceof GatewayError && reason.code === 'not_found') return undefined
    throw reason
  }
}
