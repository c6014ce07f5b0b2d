import { fileURLToPath } from 'node:url';
import { loadPackageDefinition } from '@grpc/grpc-js';
import type { GrpcObject, ServiceClientConstructor, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export type ServiceName = 'Identity' | 'Controller' | 'Node' | 'Registration';

const packages: Readonly<Record<ServiceName, { readonly file: string; readonly path: readonly string[] }>> = {
  Identity: { file: 'csi.proto', path: ['csi', 'v1', 'Identity'] },
  Controller: { file: 'csi.proto', path: ['csi', 'v1', 'Controller'] },
  Node: { file: 'csi.proto', path: ['csi', 'v1', 'Node'] },
  Registration: { file: 'plugin-registration.proto', path: ['pluginregistration', 'Registration'] },
};

/**
 * Each file is parsed once, because a driver process serves up to three drivers with up to three services.
 */
const loaded = new Map<string, GrpcObject>();

function load(file: string): GrpcObject {
  const definition = loadSync(fileURLToPath(new URL(file, import.meta.url)), {
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
  const found = loadPackageDefinition(definition);
  loaded.set(file, found);
  return found;
}

/**
 * Returns the client constructor of a service of the two protocols, with int64 as text and enums as names.
 */
export function clientOf(name: ServiceName): ServiceClientConstructor {
  const { file, path } = packages[name];
  let found: unknown = loaded.get(file) ?? load(file);
  for (const part of path) {
    found = (found as Record<string, unknown>)[part];
  }
  return found as ServiceClientConstructor;
}

export function definitionOf(name: ServiceName): ServiceDefinition {
  return clientOf(name).service;
}
