import { mustBeHttps } from '../../kubernetes/access.ts';
import { pemProblem } from '../../kubernetes/pem.ts';
import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, wrong } from '../input.ts';

/** A server and who we are to it, without a kubeconfig. */
export interface ServerConfig {
  readonly url: string;
  /** PEM; absent: the roots that the runtime trusts, or the service account's. */
  readonly ca: string | undefined;
  /** Secret. Without it and without a certificate the service account of our pod speaks. */
  readonly token: string | undefined;
  /** PEM; always together with `key`. */
  readonly certificate: string | undefined;
  /** Secret. PEM. */
  readonly key: string | undefined;
}

/** How the cluster is reached. Neither kubeconfig nor server: by the service account of the pod that we run in. */
export interface AccessConfig {
  /** Object, JSON text or YAML text. Secret. */
  readonly kubeconfig: unknown;
  /** Of the kubeconfig; absent: its current-context. */
  readonly context: string | undefined;
  readonly server: ServerConfig | undefined;
}

/** Each is a whole way in: what a later layer of the configuration names one of, it says all of. */
export const accessForms = ['kubeconfig', 'server'] as const;
const ofServer = ['ca', 'token', 'client_certificate', 'client_key'] as const;
export const accessKeys: readonly string[] = [...accessForms, 'context', ...ofServer];

/** The access keys of the section `kubernetes`. Throws INVALID_CONFIG. */
export function parseAccess(section: Json, place: Place): AccessConfig {
  const kubeconfig = section['kubeconfig'] ?? undefined;
  const url = optionalStringAt(section['server'], at(place, 'server'));
  const context = optionalStringAt(section['context'], at(place, 'context'));
  if (kubeconfig !== undefined && url !== undefined) {
    throw wrong(at(place, 'server'), 'and kubeconfig are two ways to a cluster; give one of them');
  }
  if (context !== undefined && kubeconfig === undefined) {
    throw wrong(at(place, 'context'), 'names a context of a kubeconfig, but there is none');
  }
  return { kubeconfig, context, server: serverOf(section, url, place) };
}

function serverOf(section: Json, url: string | undefined, place: Place): ServerConfig | undefined {
  if (url === undefined) {
    for (const name of ofServer) {
      if ((section[name] ?? undefined) !== undefined) throw wrong(at(place, name), 'needs kubernetes.server');
    }
    return undefined;
  }
  const [ca, token, certificate, key] = ofServer.map((name) =>
    optionalStringAt(section[name], at(place, name)),
  );
  if ((certificate === undefined) !== (key === undefined)) {
    throw wrong(place, 'has only one of client_certificate and client_key; it needs both');
  }
  for (const [name, pem] of [
    ['ca', ca],
    ['client_certificate', certificate],
    ['client_key', key],
  ] as const) {
    const problem = pem && pemProblem(pem, name === 'client_key' ? 'key' : 'certificate');
    if (problem !== undefined) throw wrong(at(place, name), problem);
  }
  return { url: serverUrl(url, at(place, 'server')), ca, token, certificate, key };
}

function serverUrl(text: string, place: Place): string {
  if (!URL.canParse(text)) throw wrong(place, 'is not a URL');
  const url = new URL(text);
  const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url.protocol !== 'https:') throw wrong(place, mustBeHttps);
  if (!isBare) throw wrong(place, 'has to have host, port and path only');
  return (url.origin + url.pathname).replace(/\/+$/u, '');
}
