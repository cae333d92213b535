import { errorAnswer, type Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

interface Target {
  readonly model: string
  readonly weight: number
  /** What it has been passed over for, as in nginx's smooth weighted round robin. */
  credit: number
}

const publicName = 'bench'
const targets: readonly Target[] = [
  { model: 'bench-large', weight: 7, credit: 0 },
  { model: 'bench-small', weight: 3, credit: 0 },
]
const allWeights = targets.reduce((sum, { weight }) => sum + weight, 0)

/** Which model answers: by weight, the one that has waited longest. The caller sees the name it asked for. */
const router: Service<string> = {
  request({ body }) {
    if (body.model !== publicName) return errorAnswer(404, `there is no model ${body.model}`)
    const { model } = next()
    return { kind: 'pass', kept: model, body: { ...body, model } }
  },
  answer(returned, model) {
    const headers = { 'x-routed-to': model }
    return returned.status === 200 ? { headers, body: { ...returned.body, model: publicName } } : { headers }
  },
}

function next(): Target {
  for (const target of targets) target.credit += target.weight
  const chosen = targets.reduce((best, each) => (each.credit > best.credit ? each : best))
  chosen.credit -= allWeights
  return chosen
}

runService(router, placesOfProcess())
