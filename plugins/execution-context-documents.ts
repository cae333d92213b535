import { acknowledgementSchema } from './acknowledgement.ts'
import { capabilitiesSchema } from './capabilities.ts'
import { contextSchema } from './execution-context.ts'
import { problemSchema } from './execution-context-refusal.ts'
import { jwsHeaderSchema } from './jws.ts'
import { policySchema } from './policy.ts'
import { policyCarrierSchema } from './policy-carrier.ts'
import { policyReportSchema } from './policy-report.ts'
import type { JsonSchema } from './schema.ts'

/** The JSON Schema of every document that travels between gateway and runner, by the name of the file that publishes it. */
export const documentSchemas: Readonly<Record<string, JsonSchema>> = {
  acknowledgement: acknowledgementSchema,
  capabilities: capabilitiesSchema,
  'execution-context': contextSchema,
  'jws-header': jwsHeaderSchema,
  policy: policySchema,
  'policy-carrier': policyCarrierSchema,
  'policy-report': policyReportSchema,
  problem: problemSchema,
}
