// An OpenID provider for tests, on loopback: node provider.cjs FOLDER, with what it is in FOLDER/provider.json. It says `ready` when it listens, and
// ends with its input, so that it outlives no test. `/test/log-in?who=NAME` logs somebody in through all of its pages, as a browser does, and
// answers with their tokens.
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const path = require('node:path');

const folder = process.argv[2];
const told = JSON.parse(fs.readFileSync(path.join(folder, 'provider.json'), 'utf8'));
// Not by `import`: on a busy machine Node.js 20 was seen to wait for ever in it, with nothing left to read.
const { default: Provider } = require(path.join(told.packages, 'oidc-provider', 'lib', 'index.js'));

const REDIRECT = 'https://client.example.org/callback';
const SECRET = 'narrow-gauge-7';
const RESOURCE = 'urn:ingather:search';

// Keys stay what they are when it is started again.
function key(name) {
  const file = path.join(folder, `${name}.jwk`);
  if (!fs.existsSync(file)) {
    const kinds = {
      rs: ['rsa', { modulusLength: 2048 }],
      es: ['ec', { namedCurve: 'P-256' }],
      ed: ['ed25519', {}],
    };
    const [kind, options] = kinds[name.slice(0, 2)];
    const jwk = crypto.generateKeyPairSync(kind, options).privateKey.export({ format: 'jwk' });
    fs.writeFileSync(file, JSON.stringify({ ...jwk, kid: name, use: 'sig', alg: algorithm(name) }));
  }
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

function algorithm(name) {
  return { rs: 'RS256', es: 'ES256', ed: 'EdDSA' }[name.slice(0, 2)];
}

const account = (id) => told.accounts[id] ?? {};
const provider = new Provider(told.issuer, {
  // The first key signs.
  jwks: { keys: told.keys.map(key) },
  cookies: { keys: ['of a test'] },
  clients: ['search', 'other'].map((client_id) => ({
    client_id,
    client_secret: SECRET,
    redirect_uris: [REDIRECT],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    id_token_signed_response_alg: algorithm(told.keys[0]),
  })),
  conformIdTokenClaims: false,
  claims: { openid: ['sub'], groups: ['groups'], profile: ['preferred_username'] },
  scopes: ['openid', 'groups', 'profile'],
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...account(id) }) }),
  extraTokenClaims: (_, token) => account(token.accountId),
  ttl: { IdToken: told.seconds, AccessToken: told.seconds, Grant: 3600, Session: 3600, Interaction: 3600 },
  features: {
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, resource) => ({
        scope: 'read',
        audience: resource === RESOURCE ? 'ingather' : resource,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: algorithm(told.keys[0]) } },
      }),
    },
  },
});

// One browser: it keeps cookies, and is told where to go next.
function browser() {
  const cookies = new Map();
  return async (at, form) => {
    const reply = await fetch(new URL(at, told.issuer), {
      method: form ? 'POST' : 'GET',
      body: form && new URLSearchParams(form),
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const line of reply.headers.getSetCookie()) {
      const [name, value] = line.split(';')[0].split('=');
      if (value) cookies.set(name, value);
      else cookies.delete(name);
    }
    if (reply.status >= 400) throw new Error(`${at}: ${reply.status} ${await reply.text()}`);
    return reply.headers.get('location');
  };
}

async function logIn({ who, client = 'search', resource = RESOURCE }) {
  const visit = browser();
  const verifier = crypto.randomBytes(32).toString('base64url');
  const ask = new URLSearchParams({
    client_id: client,
    redirect_uri: REDIRECT,
    response_type: 'code',
    scope: 'openid groups profile read',
    code_challenge: crypto.createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource,
  });
  const forms = [{ prompt: 'login', login: who, password: 'any' }, { prompt: 'consent' }];
  let at = await visit(`/auth?${ask}`);
  while (at && !at.startsWith(REDIRECT)) {
    at = await visit(at, at.includes('/interaction/') ? forms.shift() : undefined);
  }
  const code = new URL(at).searchParams.get('code');
  const reply = await fetch(new URL('/token', told.issuer), {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client}:${SECRET}`).toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      // Without one, the token is for its userinfo alone.
      ...(resource ? { resource } : {}),
    }),
  });
  return reply.json();
}

provider.use(async (context, next) => {
  if (context.path !== '/test/log-in') return next();
  try {
    context.body = await logIn(context.query);
  } catch (error) {
    context.status = 500;
    context.body = String(error);
  }
});

const { hostname, port, protocol } = new URL(told.issuer);
const secure = protocol === 'https:';
const file = (name) => fs.readFileSync(path.join(folder, name));
const server = secure
  ? https.createServer({ cert: file('server.pem'), key: file('server.key') }, provider.callback())
  : http.createServer(provider.callback());
server.listen(Number(port), hostname, () => console.log('ready'));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
