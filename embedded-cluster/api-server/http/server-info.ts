import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed, pathNotFound } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { writeJson, writeText } from './response.ts';
import { apiGroupList, apiGroup, resourceList } from './discovery.ts';
import { openApiDocument, openApiPaths } from './open-api.ts';

/** The version of Kubernetes whose API this server follows. */
export const kubernetesVersion = '1.36.0';

/** Paths that every user may read, as with a real server's system:public-info-viewer. */
export const publicPaths: ReadonlySet<string> = new Set([
  '/healthz',
  '/livez',
  '/readyz',
  '/version',
  '/version/',
]);

/**
 * Serves health, version, discovery and OpenAPI. Returns false if the path is none of these. Throws ApiError
 * 404 and 405.
 */
export function serveDiscovery(
  registry: Registry,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const parts = path.split('/').filter((part) => part !== '');
  const [root, group, version, ...more] = parts;
  const isCore = root === 'api' && (group === undefined || version === undefined);
  const isGroups = root === 'apis' && more.length === 0;
  if (!publicPaths.has(path) && root !== 'openapi' && !isCore && !isGroups) return false;
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed();
  if (publicPaths.has(path)) writePublic(path, response);
  else if (root === 'openapi') writeOpenApi(registry, parts.slice(1), response);
  else if (isCore) writeCoreGroup(registry, group, response);
  else writeGroups(registry, { group, version }, response);
  return true;
}

function writePublic(path: string, response: ServerResponse): void {
  if (!path.startsWith('/version')) return writeText(response, 200, 'ok');
  const [major, minor] = kubernetesVersion.split('.');
  return writeJson(response, 200, {
    major,
    minor,
    gitVersion: `v${kubernetesVersion}+bosh-kubernetes`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  });
}

function writeOpenApi(registry: Registry, [version, ...rest]: string[], response: ServerResponse): void {
  if (version === 'v2' && rest.length === 0) return writeEmptyOpenApi(response);
  if (version !== 'v3') throw pathNotFound();
  const path = rest.join('/');
  const document =
    path === '' ? openApiPaths(registry.kinds.values()) : openApiDocument(registry.kinds.values(), path);
  writeDocument(response, document);
}

/**
 * Responds with an OpenAPI v2 document without definitions. kubectl requests it for a kind that v3 does not
 * describe, and prints `no matches for kind` only after it has received one.
 */
function writeEmptyOpenApi(response: ServerResponse): void {
  const type = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  response.writeHead(200, { 'content-type': type, 'content-length': 0 });
  response.end();
}

function writeCoreGroup({ kinds }: Registry, version: string | undefined, response: ServerResponse): void {
  if (version !== undefined) return writeDocument(response, resourceList(kinds.values(), '', version));
  return writeJson(response, 200, {
    kind: 'APIVersions',
    apiVersion: 'v1',
    versions: ['v1'],
    serverAddressByClientCIDRs: [],
  });
}

function writeGroups(
  { kinds }: Registry,
  { group, version }: { group: string | undefined; version: string | undefined },
  response: ServerResponse,
): void {
  const all = [...kinds.values()];
  if (group !== undefined && version !== undefined)
    return writeDocument(response, resourceList(all, group, version));
  if (group !== undefined) return writeDocument(response, apiGroup(all, group));
  return writeJson(response, 200, apiGroupList(all));
}

function writeDocument(response: ServerResponse, document: unknown): void {
  if (document === undefined) throw pathNotFound();
  writeJson(response, 200, document);
}
