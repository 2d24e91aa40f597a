// A service worker: what the page has once loaded it finds again without a network. The files of the page are kept when
// it is first opened, those of a model when it is first used. Another gallery at this address has another name below,
// and what was kept of the old one is removed.

const CACHE = "seqzoo-gallery-GALLERY";

addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE), index = await fetch("gallery.json", { cache: "no-cache" });
    const { files } = await index.clone().json();
    await cache.put("gallery.json", index);
    await cache.addAll(["./", ...files.filter((name) => name !== "offline.js")]);
    await skipWaiting();
  })());
});

addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    const others = (await caches.keys()).filter((name) => name.startsWith("seqzoo-gallery-") && name !== CACHE);
    await Promise.all(others.map((name) => caches.delete(name)));
    await clients.claim();
  })());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    const cache = await caches.open(CACHE);
    const kept = await cache.match(request, { ignoreSearch: true });
    if (kept) return kept;
    const answer = await fetch(request);
    if (answer.ok && request.url.includes("/models/")) await cache.put(request, answer.clone());
    return answer;
  })());
});
