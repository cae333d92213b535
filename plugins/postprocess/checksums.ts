const digitsOf = (text: string): number[] => Array.from(text.replace(/\D/g, ''), Number)

/** The Luhn check of payment cards (ISO/IEC 7812-1 annex B). Anything but digits is passed over. */
export function passesLuhn(text: string): boolean {
  const sum = digitsOf(text)
    .reverse()
    .reduce((total, digit, at) => total + (at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2), 0)
  return sum > 0 && sum % 10 === 0
}

/** The IBAN check (ISO 13616, ISO/IEC 7064 MOD 97-10): the first four characters behind the rest, letters as 10 to 35. Spaces are passed over. */
export function passesIban(text: string): boolean {
  const plain = text.replaceAll(' ', '').toUpperCase()
  const moved = plain.slice(4) + plain.slice(0, 4)
  let rest = 0
  for (const character of moved) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return plain.length >= 15 && plain.length <= 34 && rest === 1
}

const residentWeights = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]

/** A Chinese resident identity number (GB 11643-1999): region, a date that exists, and ISO/IEC 7064 MOD 11-2; or the old 15 digits. */
export function isChineseId(text: string): boolean {
  const region = Number(text.slice(0, 2))
  if (region < 11 || region > 83) return false
  if (text.length === 15) return isDate(`19${text.slice(6, 8)}`, text.slice(8, 10), text.slice(10, 12))
  const sum = residentWeights.reduce((total, weight, at) => total + weight * Number(text[at]), 0)
  const year = Number(text.slice(6, 10))
  if (year < 1850 || year > 2100 || !isDate(text.slice(6, 10), text.slice(10, 12), text.slice(12, 14))) return false
  return '10X98765432'[sum % 11] === text[17]?.toUpperCase()
}

function isDate(year: string, month: string, day: string): boolean {
  const at = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(`${year}-${month}-${day}`)
}

/** A US social security number that can have been issued (SSA POMS RM 10201.035): no 000, 666 or 9xx area, no 00 group, no 0000 serial. */
export function isSocialSecurity(text: string): boolean {
  const [area, group, serial] = text.split(/[- ]/) as [string, string, string]
  return area !== '000' && area !== '666' && !area.startsWith('9') && group !== '00' && serial !== '0000'
}

/** A Spanish DNI or NIE: the letter is the number modulo 23. */
export function isSpanishId(text: string): boolean {
  const plain = text.toUpperCase().replaceAll('-', '')
  const number = Number(plain.slice(0, -1).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter))))
  return 'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23] === plain.at(-1)
}

/** A Brazilian CPF: two check digits modulo 11; eleven equal digits were never issued. */
export function isBrazilianId(text: string): boolean {
  const digits = digitsOf(text)
  const checkDigit = (length: number): number => {
    const sum = digits.slice(0, length).reduce((total, digit, at) => total + digit * (length + 1 - at), 0)
    return ((sum * 10) % 11) % 10
  }
  return new Set(digits).size > 1 && checkDigit(9) === digits[9] && checkDigit(10) === digits[10]
}

/** A French NIR: the key is 97 less the number modulo 97; Corsica's 2A and 2B count as 19 and 18. */
export function isFrenchId(text: string): boolean {
  const plain = text.replaceAll(' ', '').toUpperCase()
  const department = plain.slice(5, 7).replace('2A', '19').replace('2B', '18')
  const number = BigInt(plain.slice(0, 5) + department + plain.slice(7, 13))
  return 97n - (number % 97n) === BigInt(plain.slice(13))
}
