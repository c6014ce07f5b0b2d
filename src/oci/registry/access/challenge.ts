/** The authentication that a registry requests (RFC 9110, 11.6.1; distribution: docs/spec/auth/token.md). */
export type Challenge =
  | { readonly scheme: 'basic' }
  | {
      readonly scheme: 'bearer';
      readonly realm: string;
      readonly service: string | undefined;
      readonly scope: string | undefined;
    };

const parameter = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))\s*(?:,|$)/u;

/** Returns the first supported challenge of a WWW-Authenticate header; undefined if there is none. */
export function parseChallenge(header: string | undefined): Challenge | undefined {
  const basic: Challenge = { scheme: 'basic' };
  const [, scheme = '', rest = ''] = /^\s*([\w-]+)(?:\s+(.*))?$/su.exec(header ?? '') ?? [];
  switch (scheme.toLowerCase()) {
    case 'basic':
      // If a registry accepts both, a token is the better choice.
      return parseBearer(/,\s*bearer\s+(.*)$/isu.exec(rest)?.[1]) ?? basic;
    case 'bearer':
      return parseBearer(rest) ?? (/,\s*basic\b/iu.test(rest) ? basic : undefined);
    default:
      return undefined;
  }
}

function parseBearer(text: string | undefined): Challenge | undefined {
  if (text === undefined) return undefined;
  const parameters = parametersOf(text);
  const realm = parameters.get('realm');
  if (realm === undefined || !URL.canParse(realm)) return undefined;
  return { scheme: 'bearer', realm, service: parameters.get('service'), scope: parameters.get('scope') };
}

function parametersOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  let rest = text;
  for (;;) {
    const match = parameter.exec(rest);
    if (match === null) return found;
    const [whole, name = '', quoted, bare = ''] = match;
    found.set(name.toLowerCase(), quoted === undefined ? bare : quoted.replaceAll(/\\(.)/gu, '$1'));
    rest = rest.slice(whole.length);
  }
}
