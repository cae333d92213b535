import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { absent, readSteps } from '../path.ts'
import { compileTemplate, renderTemplate } from './template.ts'

const render = (text: string, values: object): string =>
  renderTemplate(compileTemplate(text), (name) => readSteps(values, name.split('.')))

describe('values', () => {
  test('a value that looks like a placeholder is never expanded', () => {
    const values = { name: '{{secret}}', secret: 's3cret' }
    expect(render('Hi {{ name }}, {{name}}', values)).toBe('Hi {{secret}}, {{secret}}')
    for (const name of [
      '{{constructor}}',
      '{{__proto__.x}}',
      '{{#each}}',
      '{{#if secret}}x{{/if}}',
      '$&',
      '\\{{secret}}',
    ]) {
      expect(render('<{{name}}>', { name })).toBe(`<${name}>`)
    }
  })
  test('inherited members are no variables', () => {
    for (const name of [
      'constructor',
      '__proto__',
      'toString',
      'user.constructor',
      'user.__proto__.x',
      'list.length',
    ]) {
      expect(() => render(`{{${name}}}`, { user: {}, list: [] })).toThrow(
        expect.objectContaining({ code: 'missing_variable', detail: { field: name } }),
      )
    }
  })
  test('null, 0, false, the empty text, lists and objects are printed', () => {
    const values = { a: null, b: 0, c: false, d: '', e: { z: 1, a: [true] }, f: [1, 'x'] }
    expect(render('{{a}}|{{b}}|{{c}}|{{d}}|{{e}}|{{f}}', values)).toBe('null|0|false||{"a":[true],"z":1}|[1,"x"]')
  })
  test('whatever a value holds comes out exactly once, as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (a, b) => {
        expect(render('[{{a}}][{{b}}]', { a, b })).toBe(`[${a}][${b}]`)
      }),
      { seed: 11 },
    )
  })
})

describe('sections', () => {
  test('a section stands for a value that is there, its else for one that is not', () => {
    const text = '{{#if vip}}gold{{else}}plain{{/if}}'
    expect(render(text, { vip: true })).toBe('gold')
    for (const vip of [undefined, null, false, 0, '', []]) expect(render(text, { vip })).toBe('plain')
  })
  test('sections nest, and what is not taken needs no value', () => {
    const text = '{{#if a}}A{{#if b}}B{{missing}}{{/if}}{{/if}}.'
    expect(render(text, { a: 1 })).toBe('A.')
    expect(render(text, {})).toBe('.')
  })
  test('a section tag alone on its line takes the line with it', () => {
    expect(render('one\n  {{#if a}}\ntwo\n{{else}}\nthree\n{{/if}}\nfour', { a: 1 })).toBe('one\ntwo\nfour')
    expect(render('a {{#if a}}\nb{{/if}}', { a: 1 })).toBe('a \nb')
  })
  test('braces with a backslash stay as they are', () => {
    expect(render('write \\{{name}} for {{name}}', { name: 'x' })).toBe('write {{name}} for x')
  })
})

describe('faults', () => {
  test.each([
    '{{#if a}}x',
    'x{{/if}}',
    '{{else}}',
    '{{#if a}}{{else}}{{else}}{{/if}}',
    '{{#each a}}{{/each}}',
    '{{> partial}}',
    '{{a b}}',
    '{{}}',
    '{{ a',
    '{{a()}}',
  ])('%s is no template', (text) => {
    expect(() => compileTemplate(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })
  test('any text compiles or is refused in time linear to its length, and nothing else is thrown', () => {
    const pieces = fc.constantFrom('{{', '}}', '{{a}}', '{{#if a}}', '{{else}}', '{{/if}}', 'x', '\\', '\n', '{', '}')
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        try {
          renderTemplate(compileTemplate(parts.join('')), () => 'v')
        } catch (error) {
          expect(error).toMatchObject({ code: 'config_invalid' })
        }
      }),
      { seed: 5 },
    )
    const start = performance.now()
    expect(() => compileTemplate('{{'.repeat(200_000))).toThrow('never closed')
    expect(performance.now() - start).toBeLessThan(1000)
  })
  test('every name is listed once', () => {
    expect(compileTemplate('{{a}}{{#if b}}{{a}}{{/if}}').names).toEqual(['a', 'b'])
    expect(renderTemplate(compileTemplate('{{#if a}}y{{/if}}n'), () => absent)).toBe('n')
  })
})
