import { fieldFault, type MessagesRequest, type MessagesTool, type MessagesToolChoice } from './anthropic-request.ts'
import type { ChatRequest } from './chat.ts'

/** The members of a chat request that say which tools there are and whether they must be called. */
export type ChatTools = Pick<ChatRequest, 'tools' | 'tool_choice'> & { readonly parallel_tool_calls?: boolean }

/** The tools of a request for chat. Throws `invalid_request` for tools that only Anthropic's servers run. */
export function chatFromTools(request: MessagesRequest): ChatTools {
  const { tools, tool_choice: choice } = request
  if (!tools || tools.length === 0) {
    if (choice && choice.type !== 'none') throw fieldFault('tool_choice', 'needs tools')
    return {}
  }
  return {
    tools: tools.map(chatFromTool),
    ...(choice ? { tool_choice: chatFromChoice(choice) } : {}),
    ...(choice?.disable_parallel_tool_use ? { parallel_tool_calls: false } : {}),
  }
}

function chatFromTool(tool: MessagesTool, index: number) {
  const { name, type, description, input_schema: parameters, strict } = tool
  if (type && type !== 'custom') {
    throw fieldFault(
      `tools.${index}.type`,
      `must be "custom": ${JSON.stringify(type)} runs on Anthropic's servers only`,
    )
  }
  if (!parameters) throw fieldFault(`tools.${index}.input_schema`, 'is required')
  return {
    type: 'function',
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters,
      ...(strict === undefined ? {} : { strict }),
    },
  }
}

function chatFromChoice(choice: MessagesToolChoice): unknown {
  switch (choice.type) {
    case 'any':
      return 'required'
    case 'tool':
      if (choice.name === undefined) throw fieldFault('tool_choice.name', 'is required')
      return { type: 'function', function: { name: choice.name } }
    default:
      return choice.type
  }
}
