// A search that works when a page is opened from disk, where browsers allow neither workers nor fetch.
(() => {
  const config = JSON.parse(document.getElementById("__config").textContent)
  const box = document.createElement("div")
  box.className = "search-box"
  box.innerHTML =
    '<input type="search" placeholder="Search" aria-label="Search the documentation"><ol hidden></ol>'
  document.querySelector(".md-header__inner").append(box)
  const input = box.querySelector("input")
  const list = box.querySelector("ol")

  const count = (text, word) => text.toLowerCase().split(word).length - 1
  const score = (page, words) =>
    words.every((word) => count(page.title + page.text, word))
      ? words.reduce((sum, word) => sum + 10 * count(page.title, word) + Math.min(5, count(page.text, word)), 0)
      : 0

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const pages = words.length
      ? window.searchIndex.docs
          .map((page) => ({ page, score: score(page, words) }))
          .filter((entry) => entry.score > 0)
          .sort((a, b) => b.score - a.score)
          .slice(0, 12)
      : []
    list.replaceChildren(
      ...pages.map(({ page }) => {
        const item = document.createElement("li")
        const link = document.createElement("a")
        link.href = `${config.base}/${page.location}`
        link.innerHTML = page.title // the index holds escaped text
        item.append(link)
        return item
      }),
    )
    if (words.length && !pages.length) list.textContent = "Nothing has all of these words."
    list.hidden = !words.length
  }

  input.addEventListener("input", show)
  const index = document.createElement("script")
  index.src = `${config.base}/search/search_index.js`
  index.onload = () => {
    const query = new URLSearchParams(location.search).get("q")
    if (query) {
      input.value = query
      show()
    }
  }
  document.head.append(index)
})()
