import type { KubernetesApi, ObjectReference, Resource, WatchEvent } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';

/** A request that was sent. `resource` is undefined for the list of API groups. */
export interface ObservedRequest {
  readonly kind: 'read' | 'write' | 'wait';
  /** As `create`, `list`, or `try to create` for a dry run. */
  readonly verb: string;
  readonly resource: Resource | undefined;
  readonly name: string | undefined;
}

export interface RequestEnd {
  /** Called with each object of the answer, which only the API server has checked. Must not throw. */
  readonly see: (object: KubernetesObject) => void;
  readonly end: () => void;
}

export type ObserveRequest = (request: ObservedRequest) => RequestEnd;

/** Returns the API, which reports each request and its end. A watch ends when its reader leaves it. */
export function observedApi(api: KubernetesApi, observe: ObserveRequest): KubernetesApi {
  // the caller gets the promise itself: waiting for it here as well would change the order of events
  const one = <T>(
    request: ObservedRequest,
    send: () => Promise<T>,
    objectsOf: (result: T) => readonly KubernetesObject[],
  ): Promise<T> => {
    const { see, end } = observe(request);
    const sent = send();
    void sent.then((result) => {
      end();
      for (const object of objectsOf(result)) see(object);
    }, end);
    return sent;
  };
  const none = (): [] => [];
  const itself = (object: KubernetesObject): [KubernetesObject] => [object];
  return {
    get: (reference) => one(of('read', 'get', reference), () => api.get(reference), itself),
    list: (resource, query = {}) =>
      one(
        { kind: 'read', verb: 'list', resource, name: nameIn(query.fieldSelector) },
        () => api.list(resource, query),
        ({ items }) => items,
      ),
    create: (resource, object) =>
      one(ofObject('write', 'create', resource, object), () => api.create(resource, object), itself),
    dryRunCreate: (resource, object) =>
      one(
        ofObject('read', 'try to create', resource, object),
        () => api.dryRunCreate(resource, object),
        none,
      ),
    replace: (resource, object, ...more) =>
      one(
        ofObject('write', 'replace', resource, object),
        () => api.replace(resource, object, ...more),
        itself,
      ),
    patch: (reference, patch, ...more) =>
      one(of('write', 'patch', reference), () => api.patch(reference, patch, ...more), itself),
    delete: (reference, ...more) =>
      one(of('write', 'delete', reference), () => api.delete(reference, ...more), none),
    groups: () =>
      one({ kind: 'read', verb: 'get', resource: undefined, name: undefined }, () => api.groups(), none),
    watch: (resource, query = {}) =>
      relay(
        api.watch(resource, query),
        observe({ kind: 'wait', verb: 'watch', resource, name: nameIn(query.fieldSelector) }),
      ),
    ...('serverTime' in api && { serverTime: () => api.serverTime?.() }),
  };
}

const of = (kind: 'read' | 'write', verb: string, reference: ObjectReference): ObservedRequest => ({
  ...{ kind, verb },
  resource: reference.resource,
  name: reference.name,
});

const ofObject = (
  kind: 'read' | 'write',
  verb: string,
  resource: Resource,
  { metadata }: KubernetesObject,
): ObservedRequest => ({ kind, verb, resource, name: metadata.name });

const nameIn = (fieldSelector: string | undefined): string | undefined =>
  /(?:^|,)metadata\.name=([^,]+)/u.exec(fieldSelector ?? '')?.[1];

async function* relay<T extends KubernetesObject>(
  events: AsyncIterable<WatchEvent<T>>,
  { see, end }: RequestEnd,
): AsyncGenerator<WatchEvent<T>> {
  try {
    for await (const event of events) {
      if (event.type === 'ADDED' || event.type === 'MODIFIED') see(event.object);
      yield event;
    }
  } finally {
    end();
  }
}
