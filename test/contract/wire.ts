import type { Resource } from '../../src/kubernetes/api.ts';
import { resourcePath } from '../../src/kubernetes/resources.ts';
import type { TransportRequest, TransportResponse } from '../../src/kubernetes/client/transport.ts';
import type { WireSubject } from './subject.ts';

export interface Answer {
  readonly status: number;
  readonly headers: TransportResponse['headers'];
  readonly json: Record<string, unknown>;
}

export interface Exchange {
  readonly method?: TransportRequest['method'];
  /** The name of an object; absent: the collection. */
  readonly name?: string;
  readonly subresource?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** JSON as it is sent, or a value to be encoded. */
  readonly body?: unknown;
  readonly contentType?: string;
}

/** Sends one request for objects of a resource in the subject's namespace, and returns the JSON response. */
export async function exchange(
  { wire, namespace }: WireSubject,
  resource: Resource,
  { method = 'GET', name, subresource, query, body, contentType = 'application/json' }: Exchange = {},
): Promise<Answer> {
  const rest = [name, subresource].filter((part) => part !== undefined);
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const {
    status,
    headers,
    body: answer,
  } = await wire.request({
    method,
    path: resourcePath(resource, namespace, ...rest),
    query,
    ...(text === undefined ? {} : { body: text, contentType }),
  });
  return { status, headers, json: JSON.parse(answer) as Record<string, unknown> };
}
