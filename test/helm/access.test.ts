import { describe, expect, test } from 'vitest'
import { rulesFrom } from '../../proxy/outside/kubernetes/rules.ts'
import { helmAvailable, only, type Rendered, render } from './chart.ts'

const rights = (objects: readonly Rendered[]) => objects.filter(({ apiVersion }) => apiVersion.startsWith('rbac.'))

const renderWith = (kubernetes: Record<string, unknown>) => render({ gateway: { config: { folding: { kubernetes } } } })

describe.skipIf(!helmAvailable)('rights in the cluster', () => {
  test('there are none, and no token, unless they are asked for', async () => {
    const objects = await render({})
    expect(rights(objects)).toEqual([])
    expect(only(objects, 'ServiceAccount')['automountServiceAccountToken']).toBe(false)
    expect(rights(await renderWith({ rollback: false, events: false, deployment: 'llm' }))).toEqual([])
  })

  test.each([
    { rollback: true, events: false, deployment: 'llm' },
    { rollback: false, events: true, deployment: 'llm' },
    { rollback: false, events: true, deployment: null },
    { rollback: true, events: true, deployment: 'llm' },
  ])('$rollback, $events, $deployment: the Role has the rules of the code, and no more', async (kubernetes) => {
    const objects = await renderWith(kubernetes)
    expect(only(objects, 'Role')['rules']).toEqual(rulesFrom(kubernetes))
    expect(only(objects, 'Deployment')['spec'].template.spec.automountServiceAccountToken).toBe(true)
    expect(only(objects, 'RoleBinding')['subjects']).toEqual([
      { kind: 'ServiceAccount', name: 'r-foldgate', namespace: 'llm' },
    ])
  })

  test('they are in the namespace of the Deployment', async () => {
    const objects = await renderWith({ rollback: true, deployment: 'llm', namespace: 'gpus' })
    expect(rights(objects).map(({ metadata }) => metadata['namespace'])).toEqual(['gpus', 'gpus'])
  })

  test('an undo without the name of a Deployment is a fault', async () => {
    await expect(renderWith({ rollback: true })).rejects.toThrow('deployment is needed by rollback')
  })
})
