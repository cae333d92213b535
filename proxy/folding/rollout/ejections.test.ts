import { expect, it } from 'vitest'
import { createEjections } from './ejections.ts'

it('a runner is out of the canary that it was taken out of, and of no other', () => {
  const ejections = createEjections('a')
  ejections.put('r1', ['runner gpu-2'])
  ejections.put('r1', [])
  expect([ejections.has('r1', 'gpu-2'), ejections.has('r1', 'gpu-1'), ejections.has('r2', 'gpu-2')]).toEqual([
    true,
    false,
    false,
  ])
})

it('a gateway that is out sends no runner a call of that canary; another gateway is no matter of its own', () => {
  const [a, b] = [createEjections('a'), createEjections('b')]
  for (const each of [a, b]) each.put('r1', ['gateway a'])
  expect([a.has('r1', 'gpu-1'), b.has('r1', 'gpu-1')]).toEqual([true, false])
})
