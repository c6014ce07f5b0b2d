import type { Access } from './access.ts';
import { openTransport } from './open-transport.ts';
import { RestApi } from './rest-api.ts';

/** Opens a RestApi over the transport of this runtime. It connects at the first request. */
export async function openApi(access: Access): Promise<RestApi> {
  return new RestApi({ transport: await openTransport(access) });
}
