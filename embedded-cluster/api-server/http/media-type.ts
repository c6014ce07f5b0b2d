import { notAcceptable } from '../errors/status-errors.ts';

/** The representation that a client requests: full objects, rows of a table for kubectl, or metadata only. */
export type MediaTypeParams = 'object' | 'table' | 'metadata';

const supportedTypes = ['application/json', 'application/json;as=Table;g=meta.k8s.io;v=v1'];

/**
 * Returns the first supported representation of an Accept header; JSON if the header is absent. Throws
 * ApiError 406 if none is supported.
 */
export function negotiate(accept: string | undefined): MediaTypeParams {
  for (const entry of mediaTypes(accept ?? '*/*')) {
    if (!['application/json', 'application/*', '*/*'].includes(entry.type)) continue;
    const as = entry.parameters.get('as');
    if (as === undefined) return 'object';
    if (entry.parameters.get('g') !== 'meta.k8s.io' || entry.parameters.get('v') !== 'v1') continue;
    if (as === 'Table') return 'table';
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return 'metadata';
  }
  throw notAcceptable(supportedTypes);
}

export interface MediaType {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Returns the entries of an Accept or Content-Type header, in order. */
export function mediaTypes(header: string): MediaType[] {
  return header.split(',').map((entry) => {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const pairs = parameters.map((parameter): [string, string] => {
      const [key = '', value = ''] = parameter.split('=');
      return [key.trim(), value.trim()];
    });
    return { type: type.toLowerCase(), parameters: new Map(pairs) };
  });
}
