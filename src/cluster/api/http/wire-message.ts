/** How a field of a message is read: `skipped` is for empty times that Go always sends. */
export type WireType =
  | 'text'
  | 'base64'
  | 'integer'
  | 'flag'
  | 'skipped'
  /** Go sends false where the JSON would have nothing. */
  | 'flagIfTrue'
  | 'double'
  /** JSON text in a message of its own. */
  | 'json'
  /** resource.Quantity and intstr.IntOrString, messages of their own. */
  | 'quantity'
  | 'integerOrText'
  | { readonly message: WireMessage }
  /** Repeated. */
  | { readonly messages: WireMessage }
  | { readonly list: 'text' | 'json' }
  | { readonly map: 'text' | 'base64' | 'quantity' }
  | { readonly mapOf: WireMessage }
  /** One of several members, which stands for the whole in JSON; the last that is there counts. */
  | { readonly oneOf: WireMessage };

/** The fields of a message by their numbers. */
export type WireMessage = Readonly<Record<number, readonly [name: string, type: WireType]>>;
