// The OpenID Connect library. It takes a third of a second to load, so it is imported only when an application first uses the provider.
export { errors, interactionPolicy, Provider } from 'oidc-provider';
