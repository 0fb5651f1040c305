// The page for people at /docs. It needs no token: it tells what the software can do, and nothing of what this server holds.
import { text } from '../answer.ts'
import type { OpenApiDocument } from '../openapi.ts'
import { referencePage, referencePolicy } from '../reference-page.ts'
import { defineRoute, type RouteModule } from '../route.ts'

export const referenceRoutes: RouteModule<{ readonly document: () => OpenApiDocument }> = ({ document }) => {
  // It is in the document itself, so there is no page before there is a document.
  let page: string | undefined
  return [
    defineRoute({
      method: 'get',
      path: '/docs',
      tag: 'health',
      summary: 'The API for people.',
      scope: 'open',
      answers: { 200: { description: 'A page.', text: 'text/html' } },
      handle: async () =>
        text((page ??= referencePage(document())), {
          'content-type': 'text/html; charset=utf-8',
          'content-security-policy': referencePolicy,
        }),
    }),
  ]
}
