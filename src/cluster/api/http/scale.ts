import { copyJson } from '../schema/json.ts';
import { badRequest, methodNotAllowed, unknownPath } from '../errors/status-errors.ts';
import { at } from '../kinds/columns.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { decodeObject } from '../schema/decode.ts';
import { fields, integer, kindSchema, text } from '../schema/schema.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { getObject } from '../registry/registry.ts';
import { updateObject } from '../registry/update.ts';
import { answerJson } from './answer.ts';
import { readObject, readPatch } from './body.ts';
import { mediaTypes } from './media-type.ts';
import { writeParameters } from './query.ts';
import type { ResourceRequest } from './resource-verbs.ts';

const schema = kindSchema({
  spec: fields({ replicas: integer }),
  status: fields({ replicas: integer, selector: text }),
});
const apiVersion = 'autoscaling/v1';

/** GET, PUT and PATCH of `/scale`: autoscaling/v1 Scale. Throws ApiError. */
export async function serveScale(call: ResourceRequest): Promise<void> {
  const { registry, route, query, request, response, user } = call;
  const { kind } = route;
  const { scale } = kind;
  if (scale === undefined) throw unknownPath();
  const location = { namespace: route.namespace, name: route.name ?? '' };
  if (request.method === 'GET') {
    return answerJson(response, 200, scaleOf(getObject(registry, kind, location), scale));
  }
  const wantedOf = await readWanted(call);
  // nothing may come between here and the write
  const current = getObject(registry, kind, location);
  const wanted = decodeObject(schema, wantedOf(scaleOf(current, scale)), 'Scale', apiVersion);
  const { name, uid, resourceVersion } = (wanted['metadata'] ?? {}) as StoredObject['metadata'];
  if ((name ?? location.name) !== location.name)
    throw badRequest('the name of the object does not match the URL');
  const draft = {
    ...copyJson(current),
    metadata: { ...current.metadata, uid: uid ?? '', resourceVersion: resourceVersion ?? '' },
    spec: { ...(current['spec'] as object), replicas: Number(at(wanted as never, 'spec', 'replicas') ?? 0) },
  };
  const { dryRun } = writeParameters(query);
  answerJson(response, 200, scaleOf(updateObject(registry, kind, location, draft, { dryRun, user }), scale));
}

/** Reads the body; what it makes of the present scale. */
async function readWanted({ request }: ResourceRequest): Promise<(present: unknown) => unknown> {
  if (request.method === 'PUT') {
    const object = await readObject(request);
    return () => object;
  }
  if (request.method !== 'PATCH') throw methodNotAllowed();
  const { value } = await readPatch(request);
  const type = mediaTypes(request.headers['content-type'] ?? '')[0]?.type;
  return (present) =>
    type === 'application/json-patch+json' ? applyJsonPatch(present, value) : applyMergePatch(present, value);
}

function scaleOf(object: StoredObject, selector: (object: StoredObject) => string): object {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selected = selector(object);
  return {
    kind: 'Scale',
    apiVersion,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: Number(at(object, 'spec', 'replicas') ?? 0) },
    status: {
      replicas: Number(at(object, 'status', 'replicas') ?? 0),
      ...(selected !== '' && { selector: selected }),
    },
  };
}
