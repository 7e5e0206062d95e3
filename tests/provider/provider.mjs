// An identity provider for tests: a real one, whose user signs in without typing anything.
// Arguments: a JSON file with {port, jwks, clients}, and the folder of packages. `PUT /test/account` says who signs in next.
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const packages = pathToFileURL(`${process.argv[3]}/node_modules/oidc-provider/lib/index.js`)
const { Provider } = await import(packages)
const settings = JSON.parse(readFileSync(process.argv[2], 'utf8'))
let account = { sub: 'u-1', claims: {} }
const issuer = `http://127.0.0.1:${settings.port}`

const provider = new Provider(issuer, {
  clients: settings.clients,
  jwks: settings.jwks,
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['preferred_username', 'groups', '_claim_names', 'hasgroups'],
  },
  conformIdTokenClaims: false,
  cookies: { keys: ['only for tests'] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_ctx, id) => ({
    accountId: id,
    claims: () => ({ ...account.claims, sub: id }),
  }),
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  pkce: { required: () => true },
})

async function interact(req, res) {
  const { prompt, params } = await provider.interactionDetails(req, res)
  if (account.refuses) {
    const refusal = { error: 'access_denied', error_description: 'not this time' }
    return provider.interactionFinished(req, res, refusal)
  }
  if (prompt.name === 'login') {
    return provider.interactionFinished(req, res, { login: { accountId: account.sub } })
  }
  const grant = new provider.Grant({ accountId: account.sub, clientId: params.client_id })
  grant.addOIDCScope('openid profile email')
  const consent = { grantId: await grant.save() }
  return provider.interactionFinished(req, res, { consent }, { mergeWithLastSubmission: true })
}

async function choose(req, res) {
  const parts = []
  for await (const part of req) parts.push(part)
  account = JSON.parse(Buffer.concat(parts))
  res.writeHead(204).end()
}

const answer = provider.callback()
createServer((req, res) => {
  if (req.url === '/test/account') return choose(req, res)
  if (req.url.startsWith('/interaction/')) {
    return interact(req, res).catch((error) => res.writeHead(500).end(String(error)))
  }
  return answer(req, res)
}).listen(settings.port, '127.0.0.1', () => writeFileSync(`${process.argv[2]}.ready`, ''))
