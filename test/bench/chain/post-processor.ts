import type { ChainChoice, Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

const email = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g
const card = /\b\d(?:[ -]?\d){12,18}\b/g
const phrases = /\b(?:as an ai language model|internal use only|confidential)\b/gi

/** What leaves the building: addresses and card numbers are taken out of an answer, and so are phrases that nobody shall read. */
const postProcessor: Service<undefined> = {
  request: () => ({ kind: 'pass', kept: undefined }),
  answer(returned) {
    if (returned.status !== 200) return undefined
    const { body } = returned
    return { body: { ...body, choices: body.choices.map(cleaned) } }
  },
}

function cleaned(choice: ChainChoice): ChainChoice {
  const { content } = choice.message
  if (typeof content !== 'string') return choice
  const text = content
    .replace(email, '[email]')
    .replace(card, (digits) => (isCard(digits) ? '[card]' : digits))
    .replace(phrases, '[removed]')
  return { ...choice, message: { ...choice.message, content: text } }
}

/** Luhn's check (ISO/IEC 7812-1). */
function isCard(digits: string): boolean {
  const bare = digits.replace(/\D/g, '')
  const sum = [...bare].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

runService(postProcessor, placesOfProcess())
