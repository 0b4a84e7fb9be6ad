import type { components, paths } from '../model/api.js';

export type Schemas = components['schemas'];

export type User = Schemas['User'];
export type Role = Schemas['Role'];
export type Policy = Schemas['Policy'];
export type Permission = Schemas['Permission'];
export type Client = Schemas['Client'];
export type Resource = Schemas['Resource'];
export type Activity = Schemas['Activity'];
export type Mail = Schemas['Mail'];
export type Session = Schemas['Session'];
export type Settings = Schemas['Settings'];
export type Meta = Schemas['Meta'];

type MethodName = 'get' | 'post' | 'patch' | 'delete';

/** The paths that have an operation with this method. */
export type PathWith<M extends MethodName> = {
  [P in keyof paths]: paths[P] extends { [K in M]: object } ? P : never;
}[keyof paths];

type OperationOf<P extends keyof paths, M extends MethodName> = paths[P] extends { [K in M]: infer O } ? O : never;

/** The body of a request. */
export type BodyOf<P extends keyof paths, M extends MethodName> =
  OperationOf<P, M> extends { requestBody?: { content: { 'application/json': infer B } } } ? B : undefined;

type JsonOf<R> = R extends { content: { 'application/json': infer B } } ? B : undefined;

/** The body of a successful response. Without one: undefined. */
export type ResultOf<P extends keyof paths, M extends MethodName> =
  OperationOf<P, M> extends { responses: infer R }
    ? R extends { 200: infer Ok }
      ? JsonOf<Ok>
      : R extends { 201: infer Created }
        ? JsonOf<Created>
        : undefined
    : never;
